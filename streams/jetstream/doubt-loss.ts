import { TransientError } from '#src/lib/failure.ts'
import type { Nats } from './nats.ts'
import type { OfLeader } from './of-leader.ts'
import { ForbiddenError } from './presence.ts'
import { storedOf, type Stored } from './stored.ts'
import { endsIn, goneFailure, streamInfo, type StreamInfo } from './stream-state.ts'
import type { LogName } from './subjects.ts'

// A server says "not found" of whatever it cannot read, as while it has no file handles left; and that one server lacks a message does not say that
// all do. Whoever goes on without what is lost must know that it is.

/** The server chooses one of the copies for each question. Of three, one is left out in one of 20,000 cases. */
const timesAsked = 24

type Sought = Readonly<{ sequence: number; next: Stored | undefined; last: Stored | undefined; info: StreamInfo }>

/** Why the leader may have a message that it does not find. `next`: what it finds from there on; `last`: what it finds in all. */
function doubtOfLeader({ sequence, next, last, info }: Sought): string | undefined {
  if (next?.sequence === sequence) return 'it was not found, and is there now'
  const ends = endsIn(info)
  if (ends.last < sequence) return 'who leads the servers is behind'
  // It looks for the next message block by block, and finds none once it cannot read one.
  const isBehindAll = ends.first > sequence || (last !== undefined && last.sequence < sequence)
  if (next !== undefined || isBehindAll) return undefined
  return 'NATS counts it and cannot read it now: it lacks file handles or memory, or its disk fails (see its log): give it what it lacks, and restart it'
}

/** Throws TransientError if a message that the leader did not find may be there all the same. */
export async function doubtLoss(nats: Nats, log: LogName, ofLeader: OfLeader, sequence: number): Promise<void> {
  const next = await ofLeader.message({ seq: sequence, next_by_subj: '>' })
  const last = next ?? (await ofLeader.message({ last_by_subj: `${log.root}.>` }))
  // After these, so that it is not an earlier leader that knows of more.
  const info = await streamInfo(nats, log.stream)
  if (info === undefined) throw goneFailure(log, 'read')
  const doubt = (hint: string): TransientError =>
    new TransientError({ operation: `read message ${sequence} of`, subject: `stream ${log.stream}`, hint })
  const why = doubtOfLeader({ sequence, next, last, info })
  if (why !== undefined) throw doubt(why)
  const { replicas = [] } = info.cluster ?? {}
  if (replicas.some(({ current, offline }) => offline === true || !current))
    throw doubt('who leads the servers lacks it, and not all that have copies of the stream are up and current')
  const question = JSON.stringify({ seq: sequence, batch: 1 })
  const ask = () => nats.requestMany(`$JS.API.DIRECT.GET.${log.stream}`, question, () => {})
  const asked = Promise.all(Array.from({ length: timesAsked }, ask))
  // Who may not ask the copies need not where there is only that of the leader.
  const answers = await asked.catch((error: unknown) => {
    if (replicas.length > 0 || !(error instanceof ForbiddenError)) throw error
    return []
  })
  const end = next?.sequence ?? Number.POSITIVE_INFINITY
  if (answers.flat().some((received) => received.code === 0 && storedOf(received).sequence < end))
    throw doubt(
      'who leads the servers lacks it, and another copy of the stream has it: have another server lead (nats stream cluster step-down), and ' +
        'replace the one that lacks it',
    )
}
