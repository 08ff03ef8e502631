import { createDeadLetters, type DeadLetters } from '#projections/folding/dead-letters.ts'
import { projections } from '#projections/registry.ts'
import { openPayload } from '#src/events/codec.ts'
import type { DeadLetter } from '#src/events/dead-letter.ts'
import type { Refused } from '#src/directory/directory-writer.ts'
import type { Clock } from '#src/lib/clock.ts'
import { fail, ok } from '#src/lib/result.ts'
import type { Stream } from '#streams/stream.ts'
import { isoTime, table } from './show.ts'
import { UsageError, type Outcome, type Verb, type VerbContext } from './verb.ts'
import { parsePosition } from './options.ts'

type Found = Readonly<{
  partition: string
  projection: string
  version: number
  letter: DeadLetter
  letters: DeadLetters
}>

async function lettersOf(stream: Stream, clock: Clock): Promise<readonly Found[]> {
  const letters = createDeadLetters({ stream, clock })
  const { partition } = stream
  const found: Found[] = []
  for (const { name: projection, version } of projections) {
    const own = await letters.letters({ name: projection, version })
    found.push(...own.map((letter) => ({ partition, projection, version, letter, letters })))
  }
  return found
}

/** Does it with the dead letters of all partitions, in the order of partitions and projections. */
async function withLetters(
  { services, dataFolder, clock }: VerbContext,
  task: (found: readonly Found[]) => Promise<Outcome>,
): Promise<Outcome> {
  const logs = await services.openLogs(dataFolder)
  try {
    const found: Found[] = []
    for (const log of logs) found.push(...(await lettersOf(log, clock)))
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

const positionSaid = 'POSITION as the list has it, 2/4096; 4096 alone is of partition 0'

const notHeld = 'The log does not hold it any more.'

const nothingAt = (name: string) =>
  fail<Refused>({
    code: 'unknown',
    field: 'position',
    detail: `There is no dead letter at ${name}; "throughline dead-letters list" shows them.`,
  })

async function letterJson({ partition, projection, letter, letters }: Found) {
  const event = await letters.event(letter.position)
  return {
    position: `${partition}/${letter.position}`,
    projection,
    state: letter.state,
    workspace: event?.workspaceId ?? null,
    type: event?.type ?? null,
    received_at: isoTime(event?.receivedAt ?? null),
    reason: await letters.reason(letter),
  }
}

const reasonText = ({ type, reason }: Awaited<ReturnType<typeof letterJson>>): string =>
  type === null ? notHeld : reason

export const deadLettersList: Verb = {
  about:
    'lists the events that an index could not take and that are missing from it: their position in the log, and the reason',
  run: (given) =>
    withLetters(given, async (found) => {
      // In turn: each reads its event, which may be as large as an export.
      const all: Awaited<ReturnType<typeof letterJson>>[] = []
      for (const one of found) all.push(await letterJson(one))
      const rows = all.map((one) => [one.position, one.projection, one.state, one.workspace ?? '', reasonText(one)])
      const text = table([['POSITION', 'PROJECTION', 'STATE', 'WORKSPACE', 'REASON'], ...rows])
      return ok({ json: { dead_letters: all }, text: all.length === 0 ? 'There are no dead letters.' : text })
    }),
}

export const deadLettersShow: Verb = {
  names: ['POSITION'],
  about: `shows one, with its bytes as received, decompressed; ${positionSaid}`,
  run: (given) => {
    const [name = ''] = given.names
    return withLetters(given, async (all) => {
      const found = lettersAt(all, name)
      const [first] = found
      if (first === undefined) return nothingAt(name)
      const event = await first.letters.event(first.letter.position)
      const of = await Promise.all(found.map(letterJson))
      if (event === undefined) {
        return ok({ json: { dead_letters: of, event: null }, text: notHeld })
      }
      const { payload: _, ...header } = event
      const bytes = Buffer.from(openPayload(event))
      const json = { dead_letters: of, event: header, payload_base64: bytes.toString('base64') }
      const lines = of.map(({ projection, state, reason }) => `${projection}: ${state}: ${reason}`)
      return ok({ json, text: [...lines, JSON.stringify(header), bytes.toString('utf8')].join('\n') })
    })
  },
}

const notToRetry = fail<Refused>({
  code: 'invalid',
  field: 'position',
  detail: `${notHeld} It cannot be folded; "throughline dead-letters drop" accepts that it stays out.`,
})

/** Settles all that are open. Those whose events are gone cannot be retried, and stay as they are. */
async function settleAll(all: readonly Found[], as: 'retried' | 'dropped', said: (count: number) => string) {
  const open = all.filter(({ letter }) => letter.state === 'open')
  const changed = new Set<string>()
  let [settled, gone] = [0, 0]
  for (const { projection, version, letter, letters } of open) {
    if (as === 'retried' && (await letters.event(letter.position)) === undefined) {
      gone++
      continue
    }
    if ((await letters.settle({ name: projection, version }, letter.position, as)) !== 'open') continue
    settled++
    changed.add(projection)
  }
  const lines = settled === 0 ? [] : [`${said(settled)} (${[...changed].join(', ')})`]
  if (gone > 0) lines.push(`${gone} ${gone === 1 ? 'is' : 'are'} not held by the log any more`)
  const text = lines.length === 0 ? 'There are no open dead letters.' : `${lines.join('; ')}.`
  return ok({ json: { position: 'all', [as]: [...changed], settled, gone }, text })
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
        const found = lettersAt(all, position)
        const [first] = found
        if (first === undefined) return nothingAt(position)
        if (as === 'retried' && (await first.letters.event(first.letter.position)) === undefined) return notToRetry
        const changed: string[] = []
        for (const { projection, version, letter, letters } of found) {
          const before = await letters.settle({ name: projection, version }, letter.position, as)
          if (before !== undefined && before !== as && before !== 'retried') changed.push(projection)
        }
        const text =
          changed.length === 0 ? 'Nothing has changed: that was decided before.' : `${done} (${changed.join(', ')}).`
        return ok({ json: { position, [as]: changed }, text })
      })
    },
  }
}

export const deadLettersRetry = settle({
  as: 'retried',
  about: `folds it, or all that are open, into its index after all, with the program as it is now; if that fails, it is listed again at a new position; ${positionSaid}`,
  done: 'It is folded when its index comes to this decision',
  all: (count) =>
    count === 1
      ? '1 is folded when its index comes to this decision'
      : `${count} are folded when their index comes to these decisions`,
})

export const deadLettersDrop = settle({
  as: 'dropped',
  about: `accepts that it stays out, or that all do that are open: it is no longer counted; its bytes stay in the log; ${positionSaid}`,
  done: 'It stays out',
  all: (count) => (count === 1 ? '1 stays out' : `${count} stay out`),
})
