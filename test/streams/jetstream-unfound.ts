import type { Nats, Received } from '#streams/jetstream/nats.ts'

/** Who does not find messages: `server`, whatever it is asked, as without file handles; or `leader`, while one other copy has them. */
type Unfound = Readonly<{ from: number; who: 'server' | 'leader' }>

/** The server chooses a copy for each question: so many in a row it gives to the leader, and one to the other. */
const toLeader = 7

const isBefore = (received: Received, sequence: number): boolean =>
  received.code !== 0 || Number(received.header('Nats-Sequence')) < sequence

/** A connection over which a server answers "not found" of messages that it has. */
export function unfindMessages(nats: Nats) {
  let unfound: Unfound | undefined
  let asked = 0
  /** Nobody has a message there. */
  const nowhere = { seq: 1_000_000_000 }
  const otherwise = (request: { seq?: number; next_by_subj?: string; last_by_subj?: string }): object => {
    if (unfound === undefined) return request
    const { from, who } = unfound
    if (who === 'server') return (request.seq ?? from) >= from ? nowhere : request
    if (request.seq !== from) return request
    return request.next_by_subj === undefined ? nowhere : { ...request, seq: from + 1 }
  }
  return {
    unfind: (given: Unfound | undefined) => void (unfound = given),
    nats: {
      ...nats,
      request: (subject, data, fields) =>
        nats.request(
          subject,
          subject.startsWith('$JS.API.STREAM.MSG.GET.') ? JSON.stringify(otherwise(JSON.parse(String(data)))) : data,
          fields,
        ),
      requestMany: async (...request) => {
        const answers = await nats.requestMany(...request)
        if (unfound === undefined) return answers
        const { from, who } = unfound
        if (who === 'server') return answers.filter((each) => isBefore(each, from))
        const isOther = asked++ % (toLeader + 1) === toLeader
        return isOther
          ? answers
          : answers.filter((each) => !(each.code === 0 && Number(each.header('Nats-Sequence')) === from))
      },
    } satisfies Nats as Nats,
  }
}
