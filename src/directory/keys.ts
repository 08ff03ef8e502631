import { createHmac } from 'node:crypto'
import { crc32 } from 'node:zlib'
import type { KeyKind, KeyScope } from './directory.ts'

/** Cryptographic random bytes, passed in so that a simulation can drive them. */
export type RandomBytes = (bytes: number) => Uint8Array

/** A key's secret: prefix, 30 random base62 characters (178 bits), and 6 base62 characters of CRC-32 over those. */
const randomCharacters = 30
const checksumCharacters = 6
const base62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

export const keyPrefixes: Readonly<Record<KeyKind, string>> = {
  publishable: 'pk_live_',
  logs: 'lt_',
  tracing: 'tt_',
  api: 'wk_',
}
export const keyKinds: readonly KeyKind[] = ['publishable', 'logs', 'tracing', 'api']

/** The scopes each kind may have. The first is what a key has by default. */
export const keyScopes: Readonly<Record<KeyKind, readonly [KeyScope, ...KeyScope[]]>> = {
  publishable: ['rum:write'],
  logs: ['logs:write'],
  tracing: ['traces:write'],
  api: ['traces:read', 'logs:write'],
}

function checksumOf(text: string): string {
  let rest = crc32(text)
  let digits = ''
  for (let place = 0; place < checksumCharacters; place++) {
    digits = base62.charAt(rest % 62) + digits
    rest = Math.floor(rest / 62)
  }
  return digits
}

/** `count` base62 characters, each equally likely. Bytes of 248 or more would favour the first characters and are discarded. */
export function randomBase62(random: RandomBytes, count: number): string {
  let text = ''
  while (text.length < count) {
    for (const byte of random(count - text.length + 8)) {
      if (byte < 248 && text.length < count) text += base62.charAt(byte % 62)
    }
  }
  return text
}

/** A new secret. It is shown once and never stored. */
export function createKeySecret(kind: KeyKind, random: RandomBytes): string {
  const body = keyPrefixes[kind] + randomBase62(random, randomCharacters)
  return body + checksumOf(body)
}

/** The kind the prefix claims, whatever follows it; undefined for any other text. */
export function keyKindOf(secret: string): KeyKind | undefined {
  return keyKinds.find((kind) => secret.startsWith(keyPrefixes[kind]))
}

const shape = /^(?:pk_live_|lt_|tt_|wk_)[0-9A-Za-z]{36}$/

/** True if form and checksum are right: recognises mistyped or guessed keys without a look-up. */
export function isWellFormedKey(secret: string): boolean {
  return shape.test(secret) && secret.slice(-checksumCharacters) === checksumOf(secret.slice(0, -checksumCharacters))
}

/**
 * Keyed hash of a secret, 64 hex characters: HMAC-SHA256 (RFC 2104). Only this is stored. Looking it up in a map leaks nothing by timing,
 * because a caller cannot choose the hash.
 */
export function hashKey(pepper: string, secret: string): string {
  return createHmac('sha256', pepper).update(secret).digest('hex')
}

export const keyLast4 = (secret: string): string => secret.slice(-4)

/** What a kind is called in messages. */
export const keyKindNames: Readonly<Record<KeyKind, string>> = {
  publishable: 'publishable key',
  logs: 'logs source token',
  tracing: 'tracing source token',
  api: 'workspace API key',
}

export const keyKindNamed = (text: string): KeyKind | undefined => keyKinds.find((kind) => kind === text)
export const defaultScopes = (kind: KeyKind): readonly KeyScope[] => [keyScopes[kind][0]]
