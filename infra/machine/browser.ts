import { which } from './command.ts'
import { findOrInstall } from './system-packages.ts'

const names = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable']

/** The Chromium of this machine: `CHROMIUM`, or the system's; undefined when there is none. */
export const findChromium = (): string | undefined => process.env['CHROMIUM'] ?? which(...names)

/** The Chromium that browser tests drive: `CHROMIUM`, the system's, or one that the system's package manager brings. */
export const bringChromium = (): string =>
  findOrInstall(
    'Chromium',
    findChromium,
    { 'apt-get': ['chromium'], dnf: ['chromium'], apk: ['chromium'] },
    'npm test needs Chromium: install the package "chromium", or name its program in CHROMIUM.',
  )
