import type { Msg, NatsConnection } from 'nats'
import { TransientError } from '#src/lib/failure.ts'
import { ForbiddenError } from './presence.ts'
import type { Received } from './nats.ts'

/** A server that takes longer to begin with its answers may hang. */
const lateMs = 1_000

export const receivedOf = ({ data, headers: fields }: Msg): Received => ({
  code: fields?.code ?? 0,
  data,
  header: (name) => fields?.get(name) ?? '',
})

/**
 * All answers up to the first one with a status. Collects them in an inbox of its own, because the client's own method ends by time, not by
 * status.
 */
export function gatherAnswers(
  connection: NatsConnection,
  subject: string,
  data: string,
  { timeoutMs, onLate }: Readonly<{ timeoutMs: number; onLate: () => void }>,
): Promise<Received[]> {
  const answers: Received[] = []
  return new Promise((resolve, reject) => {
    const inbox = `_INBOX.${crypto.randomUUID()}`
    const lateTimer = setTimeout(onLate, lateMs)
    const giveUp = (): void => {
      subscription.unsubscribe()
      reject(new TransientError({ operation: 'ask', subject, hint: `no answer within ${timeoutMs} ms` }))
    }
    const timer = setTimeout(giveUp, timeoutMs)
    const subscription = connection.subscribe(inbox, {
      callback: (error, message) => {
        if (error !== null) {
          clearTimeout(lateTimer)
          clearTimeout(timer)
          return reject(new ForbiddenError('ask', subject, error))
        }
        const received = receivedOf(message)
        answers.push(received)
        clearTimeout(lateTimer)
        if (received.code === 0) {
          // The timeout is for each answer, not for all of them.
          timer.refresh()
        } else {
          clearTimeout(timer)
          subscription.unsubscribe()
          resolve(answers)
        }
      },
    })
    // By this name the client looks for whom it tells that the question is forbidden.
    Object.assign(subscription, { requestSubject: subject })
    connection.publish(subject, data, { reply: inbox })
  })
}
