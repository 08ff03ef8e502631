import { rmSync } from 'node:fs'
import { open, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { crcHolds, formatHeader, parseHeader } from '#src/events/codec.ts'
import type { RecordedEvent } from '#src/events/envelope.ts'
import { syncFile, syncFolder } from '#src/lib/durable-files.ts'
import { PermanentError } from '#src/lib/failure.ts'

/** An event and the partition that it stands in. */
export type PlacedEvent = Readonly<{ partition: string; event: RecordedEvent }>

type Line = Readonly<{ partition: string; position: number; header: unknown; payload: string }>
const first = { throughline: 'events', version: 1 }

/** Removes a file if a signal ends this process, which then ends as it would have. The returned function undoes this. */
function removeOnSignals(path: string): () => void {
  const signals = ['SIGHUP', 'SIGINT', 'SIGTERM'] as const
  const forget = (): void => signals.forEach((signal) => void process.off(signal, remove))
  const remove = (signal: NodeJS.Signals): void => {
    rmSync(path, { force: true })
    forget()
    process.kill(process.pid, signal)
  }
  for (const signal of signals) process.on(signal, remove)
  return forget
}

/**
 * Writes events to a new file that `readEvents` reads back: a line of JSON for each, payload and header as they are stored,
 * and at the end a line with their number, by which a file that was cut is known. It is its owner's alone, as the log is.
 */
export async function createEventFile(path: string) {
  const file = await open(path, 'wx', 0o600).catch((cause: unknown) => {
    throw new PermanentError({
      operation: 'write events to',
      subject: path,
      cause,
      hint: 'it must not be there yet, and this user must be able to make it',
    })
  })
  const forget = removeOnSignals(path)
  const out = file.createWriteStream()
  // Each write learns of the failure by itself.
  out.on('error', () => undefined)
  const orRemove = async (task: () => Promise<void>): Promise<void> => {
    try {
      await task()
    } catch (cause) {
      forget()
      await rm(path, { force: true })
      const hint = 'it must have room for them; what was written is removed'
      throw new PermanentError({ operation: 'write events to', subject: path, cause, hint })
    }
  }
  const write = (value: unknown): Promise<void> =>
    orRemove(
      () =>
        new Promise<void>((resolve, reject) => {
          out.write(`${JSON.stringify(value)}\n`, (error) => (error ? reject(error) : resolve()))
        }),
    )
  let events = 0
  await write(first)
  return {
    async add({ partition, event }: PlacedEvent): Promise<void> {
      const header: unknown = JSON.parse(formatHeader(event))
      const payload = Buffer.from(event.payload).toString('base64')
      await write({ partition, position: event.position, header, payload } satisfies Line)
      events++
    },
    /** Removes the file, if not all of the events could be had. */
    async abandon(): Promise<void> {
      out.destroy()
      forget()
      await rm(path, { force: true })
    },
    /** Resolves when all of it is on the disk. */
    async end(): Promise<void> {
      await write({ end: events })
      await orRemove(async () => {
        await new Promise<void>((resolve) => out.end(() => resolve()))
        syncFile(path)
        syncFolder(dirname(path))
      })
      forget()
    },
  }
}

function eventOf(text: string, refuse: (hint: string) => PermanentError): PlacedEvent {
  const { partition, position, header, payload } = JSON.parse(text) as Line
  const event = { ...parseHeader(JSON.stringify(header)), payload: Buffer.from(payload, 'base64'), position }
  if (!crcHolds(event)) throw refuse(`the event at ${partition}/${position} is damaged`)
  return { partition, event }
}

/** The events of a file that `createEventFile` wrote. Throws PermanentError on any other file, on damage, and on a cut one at its end. */
export async function* readEvents(path: string): AsyncGenerator<PlacedEvent> {
  const refuse = (hint: string, cause?: unknown): PermanentError =>
    new PermanentError({
      operation: 'read events from',
      subject: path,
      hint,
      ...(cause === undefined ? {} : { cause }),
    })
  let count: number | undefined
  let end: unknown
  try {
    const file = await open(path)
    for await (const text of file.readLines()) {
      if (count === undefined) {
        if (text !== JSON.stringify(first)) throw refuse('it was not written by throughline replay --out')
        count = 0
      } else if (text.startsWith('{"end":')) {
        ;({ end } = JSON.parse(text) as { end: unknown })
      } else {
        yield eventOf(text, refuse)
        count++
      }
    }
  } catch (error) {
    if (error instanceof PermanentError) throw error
    throw refuse('it cannot be read, or is damaged', error)
  }
  if (end !== count || count === undefined) throw refuse('it was cut: its last events are missing')
}
