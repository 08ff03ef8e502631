import type { Nats, Received } from '#streams/jetstream/nats.ts'

/** What of a stored message is not what was written. */
type Spoil = Readonly<{ sequence: number; part: 'payload' | 'header' }>

/** A connection over which single messages arrive other than they were stored, as from a disk or memory that fails. */
type SpoiltNats = Readonly<{ nats: Nats; spoil(sequence: number, part: Spoil['part']): void }>

/** The last byte belongs to a payload; `"keyId"` stands in a header. */
function spoilt(data: Uint8Array, part: Spoil['part']): Uint8Array {
  const copy = Buffer.from(data)
  const at = part === 'payload' ? copy.length - 1 : copy.indexOf('key-1')
  copy[at] = (copy[at] ?? 0) ^ 1
  return copy
}

export function spoilMessages(nats: Nats): SpoiltNats {
  let spoil: Spoil | undefined
  const direct = (received: Received): Received =>
    spoil !== undefined && Number(received.header('Nats-Sequence')) === spoil.sequence
      ? { ...received, data: spoilt(received.data, spoil.part) }
      : received
  const fromLeader = (received: Received): Received => {
    const answer = JSON.parse(Buffer.from(received.data).toString()) as { message?: { seq: number; data: string } }
    const { message } = answer
    if (spoil === undefined || message?.seq !== spoil.sequence) return received
    const data = Buffer.from(spoilt(Buffer.from(message.data, 'base64'), spoil.part)).toString('base64')
    return { ...received, data: Buffer.from(JSON.stringify({ ...answer, message: { ...message, data } })) }
  }
  return {
    nats: {
      ...nats,
      requestMany: async (...given) => (await nats.requestMany(...given)).map(direct),
      request: async (subject, data, fields) => {
        const received = await nats.request(subject, data, fields)
        return subject.startsWith('$JS.API.STREAM.MSG.GET.') ? fromLeader(received) : received
      },
    },
    spoil: (sequence, part) => {
      spoil = { sequence, part }
    },
  }
}
