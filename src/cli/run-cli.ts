import { randomBytes } from 'node:crypto'
import type { Directory } from '#src/directory/create-directory.ts'
import { ownVersion } from '#src/lib/own-version.ts'
import { present } from '#src/lib/assert.ts'
import { createClock } from '#src/lib/clock.ts'
import { isOperatingFailure } from '#src/lib/failure.ts'
import { checkClockToWrite } from '#src/lib/possible-clock.ts'
import { nearest } from '#src/lib/nearest.ts'
import { shownSafely } from '#src/lib/shown-safely.ts'
import { asksForJson, complain } from './complaint.ts'
import { parseGiven } from './parse-given.ts'
import { optional } from './options.ts'
import { UsageError, type CliIo, type Given, type Outcome, type Verb } from './verb.ts'
import type { CliServices } from './services.ts'
import { verbs } from './verbs.ts'

/** How long a verb waits for a log that is away, while a server would wait without limit: longer than a connection takes to come back. */
const patienceMs = 5_000

type NamedVerb = Verb & Readonly<{ name: string }>
const names = Object.keys(verbs)
/** Words that start a server. */
const roles = ['ingest', 'project', 'query', 'all']
const load = async (name: string): Promise<NamedVerb> => ({
  ...(await present(verbs[name], 'its name is known')()),
  name,
})

/** The exit code of a failure of the verb that the words name; 1 if they name none. */
export async function failureCodeOf(argv: readonly string[]): Promise<number> {
  const name = names.find((each) => each === argv.slice(0, each.split(' ').length).join(' '))
  return (name === undefined ? undefined : (await load(name)).failureCode) ?? 1
}

const usageOf = ({ name, names: given = [], usage = '' }: NamedVerb): string =>
  ['throughline', name, ...given, usage].join(' ').trimEnd()

/** Lines of at most 100 characters, broken between words, each behind six blanks. */
const indented = (text: string): string => text.replaceAll(/(.{1,94})(?: +|$)/g, '      $1\n').trimEnd()

async function helpText(shown: readonly string[]): Promise<string> {
  const lines = (await Promise.all(shown.map(load))).map((verb) => `  ${usageOf(verb)}\n${indented(verb.about)}`)
  return `Usage: npx throughline VERB … [--json] [--data FOLDER]

${lines.join('\n')}

  --json         answers with one line of JSON, after the lines of progress or events that some verbs
                 print; a failure is one line of JSON on stderr: {"error": …}
  --data FOLDER  the server's data folder (THROUGHLINE_DATA, else ./data); the server may be running
  --version      prints the version, and that of Node

With NATS_URL and ELASTICSEARCH_URL set, verbs work on that cluster. Without a verb, or with a role
(${roles.join(', ')}), a server starts; see the README for its settings.
`
}

/** The name of the verb that the first one or two words name. Throws UsageError with the nearest known one. */
function findVerb(argv: readonly string[]): string {
  const [first = '', second = ''] = argv
  const found = names.find((name) => name === `${first} ${second}` || name === first)
  if (found !== undefined) return found
  const group = names.filter((name) => name.startsWith(`${first} `))
  if (group.length > 0) {
    const known = group.map((name) => name.slice(first.length + 1))
    const meant = nearest(second, known)
    const what =
      second === '' || second.startsWith('-')
        ? `${first} needs a verb`
        : `${first} has no verb ${JSON.stringify(second)}`
    throw new UsageError(
      `${what}; ${meant === undefined || second === '' ? `known: ${known.join(', ')}` : `did you mean ${first} ${meant}?`}`,
    )
  }
  const groups = [...new Set(names.flatMap((name) => name.split(' ', 1))), 'help']
  const meant = nearest(first, groups)
  throw new UsageError(
    `there is no verb ${JSON.stringify(first)}${meant === undefined ? '' : `; did you mean ${meant}?`}`,
  )
}

/** Opens the directory beside running servers, once and only if a verb asks for it: only then are its modules loaded. */
function createOpener(services: CliServices, dataFolder: string) {
  const closers: (() => Promise<void>)[] = []
  let opened: Promise<Directory> | undefined
  async function open(): Promise<Directory> {
    const { createDirectory } = await import('#src/directory/create-directory.ts')
    const { createPasswords } = await import('#src/directory/passwords.ts')
    const { stream, pepper } = await services.openDirectory(dataFolder)
    closers.push(() => stream.close())
    const directory = await createDirectory({
      stream,
      clock: createClock(),
      random: randomBytes,
      pepper,
      plans: services.plans,
      limits: services.limits,
      passwords: createPasswords({ random: randomBytes }),
      patienceMs,
      // The command that is under way is refused by its own wait; nothing else runs here.
      onStop: () => undefined,
    })
    closers.push(() => directory.close())
    return directory
  }
  return {
    directory: (): Promise<Directory> => (opened ??= open()),
    close: async (): Promise<void> => {
      for (const close of closers.reverse()) await close()
      await services.close()
    },
  }
}

async function runVerb(verb: NamedVerb, given: Given, io: CliIo, services: CliServices): Promise<Outcome> {
  const data = optional(given, 'data')
  if (data === '') throw new UsageError('--data is empty')
  // An empty variable counts as not set, as for the server: else it would be the folder that somebody happens to stand in.
  const named = io.env['THROUGHLINE_DATA'] ?? ''
  const dataFolder = data ?? (named.trim() === '' ? './data' : named)
  const clock = createClock()
  if (verb.writes === true) checkClockToWrite(services.limits.clockMinMs, clock(), verb.name)
  const opener = createOpener(services, dataFolder)
  try {
    const own = { clock, random: randomBytes, directory: opener.directory }
    return await verb.run({ ...given, io, services, dataFolder, ...own })
  } finally {
    await opener.close()
  }
}

/** Missing or wrong settings are reported by the caller, as at the start of a server. */
const isOfSettings = (error: unknown): boolean => error instanceof Error && error.name === 'ConfigError'
const stackOf = (error: unknown): string => (error instanceof Error ? (error.stack ?? error.message) : String(error))

/**
 * Reports the error, and returns the exit code. A verb whose exit code 1 means something else has a `failureCode`: it ends with that even after an
 * unexpected failure.
 */
function explainFailure(
  error: unknown,
  { asJson, io, verb }: Readonly<{ asJson: boolean; io: CliIo; verb: NamedVerb | undefined }>,
): number {
  if (error instanceof UsageError) {
    io.stderr.write(complain({ code: 'usage', detail: error.message }, asJson))
    if (!asJson) io.stderr.write(verb === undefined ? 'Try: npx throughline help\n' : `Usage: ${usageOf(verb)}\n`)
    return 2
  }
  const isKnown = isOperatingFailure(error)
  if (!isKnown && (verb?.failureCode === undefined || isOfSettings(error))) throw error
  const detail = isKnown ? error.message : stackOf(error)
  io.stderr.write(complain({ code: 'failed', detail }, asJson))
  return verb?.failureCode ?? 1
}

function tell(outcome: Outcome, asJson: boolean, io: CliIo, failureCode = 1): number {
  if (outcome.ok) {
    const { json, text, unseen } = outcome.value
    if (unseen !== undefined) io.ifUnseen?.(unseen)
    const answer = asJson ? JSON.stringify(json) : text
    if (answer !== '')
      io.stdout.write(`${shownSafely(answer)}
`)
    return outcome.value.exitCode ?? 0
  }
  io.stderr.write(complain(outcome.error, asJson))
  return failureCode
}

/** Words that are not verbs, but are explained by the whole help. */
const toldWithAll = ['help', 'version', ...roles]

const isHelpFlag = (word: string): boolean => word === '--help' || word === '-h'

/**
 * The verbs whose help is asked for. `help WORDS`: the verbs that begin with these words. `WORDS --help`: the verb that the words name, or those
 * that begin with the first word. Throws UsageError if `help` is followed by words that name no verb.
 */
function verbsAskedAbout(argv: readonly string[]): readonly string[] {
  const [first = 'help', second = ''] = argv
  if (first === 'help' || isHelpFlag(first)) {
    const words = argv.slice(1).filter((word) => !word.startsWith('-'))
    const asked = names.filter((name) => name.startsWith(words.join(' ')))
    if (asked.length > 0) return asked
    return toldWithAll.includes(words[0] ?? '') ? names : [findVerb(words)]
  }
  if (!argv.some(isHelpFlag)) return []
  const named = names.filter((name) => name === `${first} ${second}`)
  return named.length > 0 ? named : names.filter((name) => name.split(' ', 1)[0] === first)
}

/**
 * Runs a verb; `argv` without node and the script. The exit code: 0 done, 1 refused or failed, 2 written wrongly. Answers go
 * to stdout, complaints to stderr.
 */
export async function runCli(argv: readonly string[], io: CliIo, services: CliServices): Promise<number> {
  if (['--version', '-v', 'version'].includes(argv[0] ?? '')) {
    io.stdout.write(`throughline ${ownVersion()} (Node ${process.version.slice(1)})\n`)
    return 0
  }
  const asJson = asksForJson(argv)
  let verb: NamedVerb | undefined
  try {
    // First of all: somebody who asks how a verb is written has not written it completely.
    const asked = verbsAskedAbout(argv)
    if (asked.length > 0) {
      io.stdout.write(await helpText(asked))
      return 0
    }
    verb = await load(findVerb(argv))
    const given = parseGiven(verb, argv.slice(verb.name.split(' ').length))
    const outcome = await runVerb(verb, given, io, services)
    return tell(outcome, asJson, io, verb.failureCode)
  } catch (error) {
    return explainFailure(error, { asJson, io, verb })
  }
}
