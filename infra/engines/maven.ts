import { existsSync, readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { runCommand, which } from '../machine/command.ts'
import { checkDigest, download } from './download.ts'

/** `org.example:name:1.0:zip`, as Maven writes it, and the SHA-512 of its file. */
export type Artifact = Readonly<{ group: string; name: string; version: string; type: string; sha512: string }>

const central = 'https://repo1.maven.org/maven2'
const copyGoal = 'org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy'

const textOf = (element: string, xml: string): string | undefined =>
  new RegExp(`<${element}>\\s*([^<]+?)\\s*</${element}>`).exec(xml)?.[1]

function isOfCentral(mirror: string): boolean {
  const repositories = textOf('mirrorOf', mirror)?.split(/\s*,\s*/) ?? []
  return (
    ['*', 'external:*', 'central'].some((each) => repositories.includes(each)) && !repositories.includes('!central')
  )
}

/** Where these settings of a user's Maven say that Maven Central is to be had. */
export function mirrorsOf(settings: string): readonly string[] {
  const uncommented = settings.replaceAll(/<!--[^]*?-->/g, '')
  return [...uncommented.matchAll(/<mirror>([^]*?)<\/mirror>/g)]
    .filter(([mirror]) => isOfCentral(mirror))
    .flatMap(([mirror]) => textOf('url', mirror)?.replace(/\/$/, '') ?? [])
}

function repositories(): readonly string[] {
  const settings = join(homedir(), '.m2', 'settings.xml')
  return [...(existsSync(settings) ? mirrorsOf(readFileSync(settings, 'utf8')) : []), central]
}

/** Maven itself knows more of proxies and passwords than we do. */
function copyByMaven({ group, name, version, type }: Artifact, file: string): boolean {
  const artifact = `-Dartifact=${group}:${name}:${version}:${type}`
  const program = which('mvn')
  const target = [`-DoutputDirectory=${dirname(file)}`, '-Dmdep.stripVersion=true']
  if (program === undefined || basename(file) !== `${name}.${type}`) return false
  return runCommand(program, ['-q', '-B', '-ntp', copyGoal, artifact, ...target]) === 0
}

/** Brings the file of an artifact into a folder: from a mirror that the user's settings name, from Maven Central, or by Maven. */
export async function bringArtifact(artifact: Artifact, folder: string): Promise<string> {
  const { group, name, version, type } = artifact
  const file = join(folder, `${name}.${type}`)
  const path = `${group.replaceAll('.', '/')}/${name}/${version}/${name}-${version}.${type}`
  try {
    await download(
      repositories().map((repository) => `${repository}/${path}`),
      file,
    )
  } catch (failure) {
    if (!copyByMaven(artifact, file)) throw failure
  }
  await checkDigest(file, artifact.sha512)
  return file
}
