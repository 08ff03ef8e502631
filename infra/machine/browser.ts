import { which } from './command.ts'
import { findOrInstall, findOrTryInstall } from './system-packages.ts'

const names = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable']

/** The Chromium of this machine: `CHROMIUM`, or the system's; undefined when there is none. */
export const findChromium = (): string | undefined => process.env['CHROMIUM'] ?? which(...names)

const shell = 'chromium-headless-shell'

/**
 * The Chromium that browser tests drive: `CHROMIUM`, or Debian's without windows, which draws pages in half of the time. Where that cannot
 * be had: the system's, or one that the system's package manager brings.
 */
export const bringChromium = (): string =>
  process.env['CHROMIUM'] ??
  findOrTryInstall('Chromium', () => which(shell), { 'apt-get': [shell] }) ??
  findOrInstall(
    'Chromium',
    findChromium,
    { 'apt-get': ['chromium'], dnf: ['chromium'], apk: ['chromium'] },
    'npm test needs Chromium: install the package "chromium", or name its program in CHROMIUM.',
  )
