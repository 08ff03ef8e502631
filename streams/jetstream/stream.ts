import type { NewEvent, Position } from '#src/events/envelope.ts'
import { PermanentError, TransientError } from '#src/lib/failure.ts'
import { appendedOf, type Appended, type Expected, type Stream } from '../stream.ts'
import { createAppendCall, type AppendCall } from './append-call.ts'
import { createAppendShared, type AppendShared, type SharedLimits } from './append-shared.ts'
import type { Nats } from './nats.ts'
import { cutLog, firstOf } from './cut.ts'
import { eraseFrom, isLeftIn } from './erase.ts'
import { createIds } from './ids.ts'
import { eventsPerMessageMax, messageBytes, packEvent, type PackedEvent } from './message.ts'
import { createMessageSource } from './message-source.ts'
import { untilLed } from './provision.ts'
import { createPublisher } from './publish.ts'
import { createRead, headOf } from './reader.ts'
import { storedSubject } from './stream-config.ts'
import { endsIn, endsOf, noteCut, streamInfo, type Ends, type StreamInfo } from './stream-state.ts'
import { createSubjects, logName, type LogName } from './subjects.ts'
import { createWaker } from './waker.ts'
import { watchBeginning, type Telling } from './watch-beginning.ts'
import { watchSettings } from './watch-settings.ts'

type JetStreamOptions = Readonly<{
  /** `0`, `1`, … or `directoryPartition`; made by `provisionLogs`. */
  partition: string
  prefix?: string
  limits: SharedLimits & Readonly<{ appendQueueEventsMax: number; appendQueueBytesMax: number }>
  /** Told when somebody changes the stream so that acknowledged events may be lost, or takes its beginning; noticed with the next looks at its ends. */
  warn?: (line: string) => void
}>

type Appends = Readonly<{
  append(events: readonly NewEvent[], expected?: Expected): Promise<Appended>
  /** Resolves when all accepted appends are settled. */
  settled(): Promise<void>
}>

/** Whether no sender can repeat these events, so that their ids need not be compared. */
function isShareable(events: readonly PackedEvent[], messageBytesMax: number): boolean {
  const [first] = events
  const alike = events.every(
    ({ event }) =>
      !event.identified &&
      event.subject === undefined &&
      event.workspaceId === first?.event.workspaceId &&
      event.type === first.event.type,
  )
  return alike && events.length <= eventsPerMessageMax && messageBytes(events) <= messageBytesMax
}

type Ways = Readonly<{ shared: AppendShared; call: AppendCall; messageBytesMax(): number }>

function createAppends(
  name: string,
  limits: JetStreamOptions['limits'],
  { shared, call, messageBytesMax }: Ways,
): Appends {
  const under = new Set<Promise<unknown>>()
  let [queuedEvents, queuedBytes] = [0, 0]

  const send: AppendCall = (events, expected) =>
    expected === undefined && isShareable(events, messageBytesMax()) ? shared(events) : call(events, expected)

  return {
    append: async (events, expected) => {
      if (events.length === 0) return appendedOf([])
      const packed = events.map(packEvent)
      const bytes = messageBytes(packed)
      const full =
        queuedEvents + events.length > limits.appendQueueEventsMax || queuedBytes + bytes > limits.appendQueueBytesMax
      if (full && queuedEvents > 0) {
        throw new TransientError({ operation: 'append to', subject: name, hint: 'too much is waiting for NATS' })
      }
      queuedEvents += events.length
      queuedBytes += bytes
      const sent = send(packed, expected)
      under.add(sent)
      try {
        return await sent
      } finally {
        under.delete(sent)
        queuedEvents -= events.length
        queuedBytes -= bytes
      }
    },
    settled: async () => {
      while (under.size > 0) await Promise.allSettled(under)
    },
  }
}

/** The current ends of a log; each look tells what has become of it since it was opened. */
function watchedEnds(nats: Nats, log: LogName, opened: StreamInfo, telling: Telling): () => Promise<Ends> {
  const { epoch = '' } = opened.config.metadata
  const see = watchSettings(log, opened.config, telling.warn)
  const watch = watchBeginning(log, endsIn(opened), telling)
  let known = endsIn(opened).cut
  return async () => {
    const found = watch()
    const ends = await endsOf(nats, log, epoch, see)
    // Who puts an earlier configuration back takes the note of later cuts away. Without it, what was cut off is missing for whoever opens the log next.
    // Where that fails, as for who may not change streams, another look, or somebody else, notes it.
    if (ends.cut < known) await noteCut(nats, log, known).catch(() => {})
    known = Math.max(known, ends.cut)
    const noted = { ...ends, cut: known }
    await found(noted)
    return noted
  }
}

/** Opens the log of one partition, created by `provisionLogs`. `close` leaves the connection open. */
export async function openJetStream(nats: Nats, options: JetStreamOptions): Promise<Stream> {
  const { partition, prefix, limits, warn = () => {} } = options
  const log = logName(partition, prefix)
  const name = `stream ${log.stream}`
  const info = await untilLed(() => streamInfo(nats, log.stream))
  const epoch = info?.config.metadata['epoch']
  if (info === undefined || epoch === undefined) {
    throw new PermanentError({
      operation: 'open',
      subject: name,
      hint: 'it is not there: has it been removed?',
    })
  }
  const subjects = createSubjects(log, epoch)
  const source = createMessageSource(nats, log, subjects, warn)
  const ends = watchedEnds(nats, log, info, { isExplained: source.has, warn })
  const head = async (): Promise<Position> => headOf((await ends()).last)
  const waker = createWaker(nats, storedSubject(log), head)
  const publisher = createPublisher(nats, name, ends)
  const read = createRead(nats, log, source, { head: waker.head, ends })
  const ids = createIds(subjects, publisher, source)
  const appends = createAppends(name, limits, {
    shared: createAppendShared(subjects, publisher, limits),
    call: createAppendCall({ subjects, publisher, ids, log: name, replicated: info.config.num_replicas > 1 }),
    messageBytesMax: publisher.messageBytesMax,
  })
  let closing: Promise<void> | undefined
  const whileOpen = async <T>(operation: string, task: () => Promise<T>): Promise<T> => {
    if (closing !== undefined) throw new TransientError({ operation, subject: name, hint: 'it is closed' })
    return task()
  }
  const close = async (): Promise<void> => {
    await appends.settled()
    waker.close()
  }
  return {
    partition,
    epoch,
    append: (events, expected) =>
      whileOpen('append to', async () => {
        const appended = await appends.append(events, expected)
        waker.wake(appended.last)
        return appended
      }),
    find: (eventIds, now) =>
      whileOpen('search', async () => {
        const sought = await Promise.all(eventIds.map((id) => ids.seek(id, now)))
        const found = sought.flatMap(({ found: each }) => (each === undefined ? [] : [each]))
        return new Map(found.map(({ header, position }) => [header.id, { ...header, position }]))
      }),
    last: (subject) =>
      whileOpen('read the last event of', async () => {
        const events = await source.lastOf(subjects.ofSubject(subject))
        return events.findLast((event) => event.subject === subject)
      }),
    read: (after, max) => whileOpen('read', () => read(after, max)),
    changed: waker.wait,
    head: () => whileOpen('ask the head of', head),
    first: () => whileOpen('ask the first event of', () => firstOf(log, { ends, source })),
    cut: (upTo) => whileOpen('cut', () => cutLog(nats, log, { ends, source }, upTo)),
    erase: (workspaceId, upTo) => whileOpen('erase from', () => eraseFrom(nats, log, subjects, { workspaceId, upTo })),
    isLeft: (workspaceId) => whileOpen('search', () => isLeftIn(nats, log, subjects, workspaceId)),
    close: () => (closing ??= close()),
  }
}
