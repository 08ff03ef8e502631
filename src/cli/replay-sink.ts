import { once } from 'node:events'
import { formatHeader } from '#src/events/codec.ts'
import { optional } from './options.ts'
import type { Rejected } from './replay-answer.ts'
import { createEventFile, type PlacedEvent } from './replay-file.ts'
import { createSender } from './replay-send.ts'
import { UsageError, type Outcome, type VerbContext } from './verb.ts'

/** Where events go. `take` says what of an event was refused there; undefined for an event that cannot go there. */
type Sink = Readonly<{
  take(placed: PlacedEvent): Promise<Rejected | undefined>
  end(): Promise<void>
  /** Instead of `end`, where not all that was wanted could be read. */
  abandon?(): Promise<void>
  done: string
}>

const nothingRejected: Rejected = { records: 0, reason: undefined }

const printSink = ({ stdout }: VerbContext['io']): Sink => ({
  done: '',
  async take({ partition, event }) {
    const header = JSON.parse(formatHeader(event)) as object
    const more = stdout.write(`${JSON.stringify({ partition, position: event.position, ...header })}\n`)
    if (more === false && 'once' in stdout) await once(stdout as NodeJS.WriteStream, 'drain')
    return nothingRejected
  },
  end: async () => {},
})

async function sinkOf(given: VerbContext): Promise<Sink> {
  const [url, out] = [optional(given, 'to-url'), optional(given, 'out')]
  if (url !== undefined && out !== undefined) throw new UsageError('--to-url and --out are two ways: choose one')
  if (url !== undefined) {
    const said = (waiting: string): string =>
      `${given.options['json'] === true ? JSON.stringify({ waiting }) : waiting}\n`
    // Without it, the events of all workspaces would become those of the one whose keys are given.
    if (optional(given, 'workspace') === undefined) throw new UsageError('--to-url needs --workspace')
    const send = createSender(url, given.io.env, (reason) => given.io.stderr.write(said(reason)))
    return { take: async ({ event }) => send(event), end: async () => {}, done: `sent to ${url}` }
  }
  if (out === undefined) return printSink(given.io)
  const file = await createEventFile(out)
  const take = async (placed: PlacedEvent): Promise<Rejected | undefined> => {
    await file.add(placed)
    return nothingRejected
  }
  return { take, end: () => file.end(), abandon: () => file.abandon(), done: `written to ${out}` }
}

/** Runs a task with the sink. If it fails or is refused, nothing is left of what it wrote. */
export async function withSink(given: VerbContext, task: (sink: Sink) => Promise<Outcome>): Promise<Outcome> {
  const sink = await sinkOf(given)
  try {
    const outcome = await task(sink)
    if (!outcome.ok) await sink.abandon?.()
    return outcome
  } catch (error) {
    await sink.abandon?.()
    throw error
  }
}
