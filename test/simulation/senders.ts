import type { Answer, Ingest } from './ingest.ts'
import { leaving, makeRequest, workspaces, type Request } from './requests.ts'
import type { Stage } from './stage.ts'

/** What a sender was told first of a request, and how often it was sent. */
type Told = Answer & Readonly<{ request: Request }>
export type Sent = { sent: number; told: Told | undefined; request: Request }

type Senders = Readonly<{
  /** All that was sent, by its name. */
  sent: ReadonlyMap<string, Sent>
  /** Sends everything; resolves when everything was answered. */
  run(): Promise<void>
}>

export type Load = Readonly<{
  senders: number
  requestsOfEach: number
  recordsMax: number
  repeats: number
  /** Some of them send to a workspace that is erased meanwhile. */
  hasLeaving: boolean
}>

const patienceMs = 10_000

/**
 * Senders that send again until they are answered, and some requests again though they were, hours later at times. `isRefused`: who has
 * heard that the workspace is no more sends to it no longer.
 */
export function createSenders(
  stage: Stage,
  ingests: readonly Ingest[],
  load: Load,
  isRefused: (workspace: string) => boolean,
): Senders {
  const { world, chance } = stage
  const { below, random } = chance
  const sent = new Map<string, Sent>()
  const from = load.hasLeaving ? [...workspaces, leaving] : workspaces

  const attempt = ({ member, take }: Ingest, request: Request): Promise<Answer | undefined> => {
    const answer = take(request).catch(() => undefined)
    // A sender waits for so long, and hears at once that the connection is gone.
    const unanswered = Promise.race([member.process.died, world.sleep(patienceMs)]).then(() => undefined)
    return Promise.race([answer, unanswered])
  }
  const send = async (request: Request): Promise<void> => {
    const known = sent.get(request.name) ?? { sent: 0, told: undefined, request }
    sent.set(request.name, known)
    while (!isRefused(request.workspace)) {
      known.sent++
      const answer = await attempt(ingests[below(ingests.length)] as Ingest, request)
      if (answer !== undefined) {
        world.note(`${request.name} is told ${answer.accepted} of ${request.records.length} at ${answer.position}`)
        known.told ??= { ...answer, request }
        return
      }
      await world.sleep(below(2_000))
    }
  }
  const sender = async (number: number): Promise<void> => {
    const mine: Request[] = []
    for (let n = 0; n < load.requestsOfEach; n++) {
      const request = makeRequest(`${number}-${n}`, load.recordsMax, chance, from)
      mine.push(request)
      await send(request)
      await world.sleep(below(1_500))
      const again = mine[below(mine.length)]
      if (random() < load.repeats && again !== undefined && again.kind !== 'logs') await send(again)
    }
  }
  return {
    sent,
    run: async () => void (await Promise.all(Array.from({ length: load.senders }, (_, number) => sender(number)))),
  }
}
