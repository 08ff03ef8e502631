import { createDeadLetters, type DeadLetters } from '#projections/folding/dead-letters.ts'
import { projections } from '#projections/registry.ts'
import { buildVersion } from '#projections/rosters/build-name.ts'
import { openPayload } from '#src/events/codec.ts'
import type { DeadLetter } from '#src/events/dead-letter.ts'
import type { Refused } from '#src/directory/directory-writer.ts'
import type { Clock } from '#src/lib/clock.ts'
import { fail, ok } from '#src/lib/result.ts'
import type { Stream } from '#streams/stream.ts'
import { askIndexes, type AskedIndexes } from './ask-indexes.ts'
import { isoTime, table } from './show.ts'
import { UsageError, type Outcome, type Verb, type VerbContext } from './verb.ts'
import { parsePosition } from './options.ts'

/** `isOwn`: of an index of the version that this program folds. */
type Found = Readonly<{
  partition: string
  projection: string
  version: number
  isOwn: boolean
  letter: DeadLetter
  letters: DeadLetters
}>

/** Dead letters of the version that this program folds and of the one that readers use, as in `status`: two, until an upgrade has caught up. */
async function lettersOf(stream: Stream, asked: AskedIndexes, clock: Clock): Promise<readonly Found[]> {
  const letters = createDeadLetters({ stream, clock })
  const { partition } = stream
  const found: Found[] = []
  for (const { name: projection, version: own } of projections) {
    const index = asked.get(projection)?.progress?.index
    for (const version of new Set([index === undefined ? own : buildVersion(index), own])) {
      const all = await letters.letters({ name: projection, version })
      found.push(...all.map((letter) => ({ partition, projection, version, isOwn: version === own, letter, letters })))
    }
  }
  return found
}

/** Runs a task with the dead letters of all partitions, in the order of partitions and projections. */
async function withLetters(
  { services, dataFolder, clock }: VerbContext,
  task: (found: readonly Found[]) => Promise<Outcome>,
): Promise<Outcome> {
  const asked = await askIndexes(services, dataFolder)
  const logs = await services.openLogs(dataFolder)
  try {
    const found: Found[] = []
    for (const [number, log] of logs.entries()) found.push(...(await lettersOf(log, asked[number] ?? new Map(), clock)))
    return await task(found)
  } finally {
    await Promise.all(logs.map((log) => log.close()))
  }
}

function lettersAt(found: readonly Found[], name: string): readonly Found[] {
  const given = parsePosition(name)
  if (given === undefined) throw new UsageError(`${JSON.stringify(name)} is no position, such as 0/4096`)
  const { partition = '0', position } = given
  return found.filter((one) => one.partition === partition && one.letter.position === position)
}

const positionSaid = 'POSITION as the list shows it (2/4096); 4096 alone is in partition 0'

const notHeld = 'The log does not hold it any more.'

const nothingAt = (name: string) =>
  fail<Refused>({
    code: 'unknown',
    field: 'position',
    detail: `There is no dead letter at ${name}; "throughline dead-letters list" shows them.`,
  })

async function letterJson({ partition, projection, version, letter, letters }: Found) {
  const event = await letters.event(letter.position)
  return {
    position: `${partition}/${letter.position}`,
    projection,
    version,
    state: letter.state,
    workspace: event?.workspaceId ?? null,
    type: event?.type ?? null,
    received_at: isoTime(event?.receivedAt ?? null),
    reason: await letters.reason(letter),
  }
}

type LetterJson = Awaited<ReturnType<typeof letterJson>>

const reasonText = ({ type, reason }: LetterJson): string => (type === null ? notHeld : reason)

const nameOf = ({ projection, version, isOwn }: Found): string => (isOwn ? projection : `${projection} v${version}`)

export const deadLettersList: Verb = {
  about:
    'lists the events that an index could not take and that are missing from it: their position in the log, and the reason',
  run: (given) =>
    withLetters(given, async (found) => {
      // In turn: each reads its event, which may be as large as an export.
      const all: LetterJson[] = []
      const rows = [['POSITION', 'PROJECTION', 'STATE', 'WORKSPACE', 'REASON']]
      for (const one of found) {
        const letter = await letterJson(one)
        all.push(letter)
        rows.push([letter.position, nameOf(one), letter.state, letter.workspace ?? '', reasonText(letter)])
      }
      const text = table(rows)
      return ok({ json: { dead_letters: all }, text: all.length === 0 ? 'There are no dead letters.' : text })
    }),
}

export const deadLettersShow: Verb = {
  names: ['POSITION'],
  about: `shows one event, with its bytes as received, decompressed; ${positionSaid}`,
  run: (given) => {
    const [name = ''] = given.names
    return withLetters(given, async (all) => {
      const found = lettersAt(all, name)
      const [first] = found
      if (first === undefined) return nothingAt(name)
      const event = await first.letters.event(first.letter.position)
      const told = await Promise.all(found.map(async (one) => ({ name: nameOf(one), letter: await letterJson(one) })))
      const of = told.map(({ letter }) => letter)
      if (event === undefined) {
        return ok({ json: { dead_letters: of, event: null }, text: notHeld })
      }
      const { payload: _, ...header } = event
      const bytes = Buffer.from(openPayload(event))
      const json = { dead_letters: of, event: header, payload_base64: bytes.toString('base64') }
      const lines = told.map(({ name: projection, letter }) => `${projection}: ${letter.state}: ${letter.reason}`)
      return ok({ json, text: [...lines, JSON.stringify(header), bytes.toString('utf8')].join('\n') })
    })
  },
}

const notToRetry = fail<Refused>({
  code: 'invalid',
  field: 'position',
  detail: `${notHeld} It cannot be folded; "throughline dead-letters drop" accepts that it stays out.`,
})

/** Dead letters of another version cannot be retried by this program. But `status` counts them until they are dropped. */
const toSettle = (found: readonly Found[], as: 'retried' | 'dropped'): readonly Found[] =>
  found.filter(({ isOwn }) => isOwn || as === 'dropped')

const otherVersion = ({ projection, version }: Found) =>
  fail<Refused>({
    code: 'invalid',
    field: 'position',
    detail: `It is one of version ${version} of ${projection}, which this program does not fold: it folds all into an index of its own, and lists what that cannot take.`,
  })

/** Settles all that are open. Those whose events are gone cannot be retried, and stay as they are. */
async function settleAll(all: readonly Found[], as: 'retried' | 'dropped', said: (count: number) => string) {
  const open = toSettle(all, as).filter(({ letter }) => letter.state === 'open')
  const changed = new Set<string>()
  let [done, gone] = [0, 0]
  for (const { projection, version, letter, letters } of open) {
    if (as === 'retried' && (await letters.event(letter.position)) === undefined) {
      gone++
      continue
    }
    if ((await letters.settle({ name: projection, version }, letter.position, as)) !== 'open') continue
    done++
    changed.add(projection)
  }
  const lines = done === 0 ? [] : [`${said(done)} (${[...changed].join(', ')})`]
  if (gone > 0) lines.push(`${gone} ${gone === 1 ? 'is' : 'are'} not held by the log any more`)
  const text = lines.length === 0 ? 'There are no open dead letters.' : `${lines.join('; ')}.`
  return ok({ json: { position: 'all', [as]: [...changed], settled: done, gone }, text })
}

type Settle = Readonly<{ as: 'retried' | 'dropped'; about: string; done: string; all: (count: number) => string }>

function settle({ as, about, done, all: saidOfAll }: Settle): Verb {
  return {
    names: ['POSITION|all'],
    about,
    writes: true,
    run: (given) => {
      const [position = ''] = given.names
      return withLetters(given, async (all) => {
        if (position === 'all') return settleAll(all, as, saidOfAll)
        const listed = lettersAt(all, position)
        const found = toSettle(listed, as)
        const [first, other] = [found[0], listed[0]]
        if (first === undefined) return other === undefined ? nothingAt(position) : otherVersion(other)
        if (as === 'retried' && (await first.letters.event(first.letter.position)) === undefined) return notToRetry
        const changed = new Set<string>()
        for (const { projection, version, letter, letters } of found) {
          const before = await letters.settle({ name: projection, version }, letter.position, as)
          if (before !== undefined && before !== as && before !== 'retried') changed.add(projection)
        }
        const text =
          changed.size === 0 ? 'Nothing has changed: that was decided before.' : `${done} (${[...changed].join(', ')}).`
        return ok({ json: { position, [as]: [...changed] }, text })
      })
    },
  }
}

export const deadLettersRetry = settle({
  as: 'retried',
  about: `folds the event, or all open ones, into its index after all, with this program; if that fails, it is listed again at a new position; ${positionSaid}`,
  done: 'It is folded when its index comes to this decision',
  all: (count) =>
    count === 1
      ? '1 is folded when its index comes to this decision'
      : `${count} are folded when their index comes to these decisions`,
})

export const deadLettersDrop = settle({
  as: 'dropped',
  about: `accepts that the event, or all open ones, stay out of the index: they are no longer counted; their bytes stay in the log; ${positionSaid}`,
  done: 'It stays out',
  all: (count) => (count === 1 ? '1 stays out' : `${count} stay out`),
})
