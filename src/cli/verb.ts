import type { ParseArgsOptionsConfig } from 'node:util'
import type { Directory } from '#src/directory/create-directory.ts'
import type { Refused } from '#src/directory/directory-writer.ts'
import type { RandomBytes } from '#src/directory/keys.ts'
import type { Clock } from '#src/lib/clock.ts'
import type { Result } from '#src/lib/result.ts'
import type { CliServices } from './services.ts'

/** What the command line is run with: the process's own, or a test's. */
export type CliIo = Readonly<{
  stdout: Readonly<{ write(text: string): unknown }>
  stderr: Readonly<{ write(text: string): unknown; isTTY?: boolean; columns?: number }>
  stdin: NodeJS.ReadableStream & { isTTY?: boolean; destroy?: () => unknown }
  env: Readonly<Record<string, string | undefined>>
  /** Called before the answer is written, with what to say if that fails. */
  ifUnseen?: (detail: string) => void
}>

/** A mistake in how the command was written: told with the usage, exit code 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

/**
 * What a verb has done: as JSON, and as text for people. The exit code is 0 by default. `unseen`: what to say if the answer, the only place of a
 * secret, cannot be written.
 */
type Done = Readonly<{ json: Readonly<Record<string, unknown>>; text: string; exitCode?: number; unseen?: string }>
export type Outcome = Result<Done, Refused>

export type Given = Readonly<{
  /** Positional arguments after the verb, as many as it asks for. */
  names: readonly string[]
  options: Readonly<Record<string, string | boolean | readonly (string | boolean)[] | undefined>>
}>

export type VerbContext = Given &
  Readonly<{
    io: CliIo
    services: CliServices
    dataFolder: string
    clock: Clock
    random: RandomBytes
    /** The directory, at its head. Opened when asked for, closed at the end. */
    directory: () => Promise<Directory>
  }>

/** Its name is in verbs.ts. */
export type Verb = Readonly<{
  /** Positional arguments, as the usage shows them: `NAME`; none if not given. */
  names?: readonly string[]
  /** Options as the usage shows them. */
  usage?: string
  about: string
  options?: ParseArgsOptionsConfig
  /** Whether it writes anything with a time: then it is refused if the clock is impossible, like a server. */
  writes?: boolean
  /** The exit code of a failure, where it is not 1. */
  failureCode?: number
  run: (context: VerbContext) => Promise<Outcome>
}>
