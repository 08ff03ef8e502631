import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { which } from './command.ts'
import { findOrInstall } from './system-packages.ts'

const lowestVersion = 17

/** The home of the Java of this machine, that of `JAVA_HOME` first; undefined when none is new enough. */
export function findJava(): string | undefined {
  const home = process.env['JAVA_HOME']
  for (const program of [home === undefined ? undefined : join(home, 'bin', 'java'), which('java')]) {
    if (program === undefined) continue
    const { stderr } = spawnSync(program, ['-XshowSettings:properties', '-version'], { encoding: 'utf8' })
    const version = Number(/java\.specification\.version = (\d+)$/m.exec(stderr ?? '')?.[1])
    if (version >= lowestVersion) return /java\.home = (.+)$/m.exec(stderr)?.[1]
  }
  return undefined
}

/** The home of the Java that runs Elasticsearch: this machine's, or one that the system's package manager brings. */
export const bringJava = (): string =>
  findOrInstall(
    'Java',
    findJava,
    {
      'apt-get': ['default-jre-headless'],
      dnf: ['java-21-openjdk-headless'],
      apk: ['openjdk21-jre-headless', 'bash'],
    },
    'npm test needs Java 17 or later to run Elasticsearch: install a JRE or JDK, or name its home in JAVA_HOME.',
  )
