import type { RecordedEvent } from '#src/events/envelope.ts'
import { repeatWindowMs } from '../stream.ts'
import { keyOf } from './ids.ts'
import { encodeMessage, eventsPerMessageMax, messageBytes, packEvent, type PackedEvent } from './message.ts'
import { messagesPerBatchMax, type Outgoing } from './publish.ts'
import { copiedHeader } from './stored.ts'
import type { Subjects } from './subjects.ts'

/** A message of copied events, and the last of these as it was recorded. */
export type Copy = Readonly<{ message: Outgoing; last: RecordedEvent }>

export type CopyRules = Readonly<{
  subjects: Subjects
  /** Epoch of the log that is copied. */
  source: string
  /** One message for each event. */
  keepsPositions: boolean
  messageBytesMax: number
  /** ms */
  now: number
}>

/** Events that share a message. */
type Bundle = { readonly packed: PackedEvent[]; bytes: number; last: RecordedEvent }

/** About how much goes in one step. */
const stepBytesMax = 8 * 1024 * 1024

/**
 * Turns events into messages, in order. Consecutive events of one workspace and type, or of one subject, share a message. Events that a
 * sender may still repeat do not, because the server knows one id for each message.
 */
export function copiesOf(
  events: readonly RecordedEvent[],
  { subjects, source, keepsPositions, messageBytesMax, now }: CopyRules,
): readonly Copy[] {
  const isRepeatable = ({ identified, receivedAt }: RecordedEvent): boolean =>
    identified && receivedAt > now - repeatWindowMs
  const isAlone = (event: RecordedEvent): boolean => keepsPositions || isRepeatable(event)
  const bundles: Bundle[] = []
  for (const event of events) {
    const packed = packEvent(event)
    const open = bundles.at(-1)
    const shares =
      open !== undefined &&
      !isAlone(open.last) &&
      !isAlone(event) &&
      subjects.ofEvent(open.last) === subjects.ofEvent(event) &&
      open.packed.length < eventsPerMessageMax &&
      open.bytes + packed.bytes <= messageBytesMax
    if (shares) {
      open.packed.push(packed)
      open.bytes += packed.bytes
      open.last = event
    } else {
      bundles.push({ packed: [packed], bytes: messageBytes([packed]), last: event })
    }
  }
  return bundles.map(({ packed, last }) => ({
    message: {
      subject: subjects.ofEvent(last),
      data: encodeMessage(packed),
      fields: { [copiedHeader]: `${source}/${last.position}` },
      ...(isRepeatable(last) ? { id: keyOf(last.id) } : {}),
    },
    last,
  }))
}

/** Copies that go together: about so many bytes, and no more messages than the server takes at once. */
export function* stepsOf(
  copies: readonly Copy[],
  messagesOf: (message: Outgoing) => number,
): Generator<readonly Copy[]> {
  let step: Copy[] = []
  let [bytes, messages] = [0, 0]
  for (const copy of copies) {
    const size = copy.message.data.length
    const count = messagesOf(copy.message)
    if (step.length > 0 && (bytes + size > stepBytesMax || messages + count > messagesPerBatchMax)) {
      yield step
      step = []
      bytes = messages = 0
    }
    step.push(copy)
    bytes += size
    messages += count
  }
  if (step.length > 0) yield step
}
