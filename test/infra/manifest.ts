import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { parseAllDocuments } from 'yaml'
import { bytesMaxDefault, directoryBytesMax } from '#streams/jetstream/provision.ts'
import { readConfig, settingNames, type Config } from '#src/config.ts'

export const read = (file: string): string => readFileSync(join('infra', file), 'utf8')

/** The documents of a YAML file of infra/; fails where the file is not sound, a key stands twice included. */
export function documentsOf(file: string): unknown[] {
  return parseAllDocuments(read(file), { merge: true }).map((document) => {
    expect([...document.errors, ...document.warnings].map(String), file).to.deep.equal([])
    return document.toJS() as unknown
  })
}

export type Environment = Readonly<Record<string, string>>

/** What infra/secrets.sh writes. */
export function makeSecrets(): Environment {
  const lines = execFileSync('/bin/sh', ['infra/secrets.sh'], { encoding: 'utf8' }).trim().split('\n')
  return Object.fromEntries(lines.map((line) => line.split(/=(.*)/s).slice(0, 2) as [string, string]))
}

/** The configuration that a process of ours has with these variables, of which `helpers` only make up others. */
export function configOf(environment: Environment, args: readonly string[], helpers: readonly string[] = []): Config {
  const unknown = Object.keys(environment).filter((name) => ![...settingNames, ...helpers].includes(name))
  expect(unknown, 'variables that the server does not know').to.deep.equal([])
  return readConfig(environment, args)
}

/** The variables that nats.conf and nats-cluster.conf ask for. */
export const natsVariables = (): string[] =>
  [
    ...new Set(
      ['nats.conf', 'nats-cluster.conf'].flatMap((file) =>
        [...read(file).matchAll(/^\s*[a-z_]+: \$([A-Z_]+)$/gm)].map(([, name = '']) => name),
      ),
    ),
  ].sort()

/** `host:port` of every server that an environment names, in its routes or addresses. */
export const addressesIn = (text: string): string[] =>
  [...text.matchAll(/@([^\s,/\]]+)/g)].map(([, address = '']) => address)

/** Bytes that a NATS server of this environment may store; its GB has 1024³ (nats-server's conf/parse.go). */
export function storeBytesOf(environment: Environment): number {
  const [, gigabytes = ''] = /^(\d+)GB$/.exec(environment['NATS_STORE_BYTES'] ?? '') ?? []
  return Number.parseInt(gigabytes, 10) * 1024 ** 3
}

/** Bytes that the streams of a cluster's logs may come to on a server that holds all of them. */
export const streamBytesOf = ({ cluster }: Config): number =>
  (cluster?.partitions ?? 0) * bytesMaxDefault + directoryBytesMax

/** What a process takes at most from when it is told to stop, ms: its patience, and an end by force. */
export const stopMsOf = ({ stopPatienceMs }: Config): number => stopPatienceMs + 10_000
