import { PermanentError, TransientError } from '#src/lib/failure.ts'
import type { Nats } from './nats.ts'

/** An error of the server. `code` is JetStream's own (10…), from its errors.json. */
export type ServerError = Readonly<{ code: number; status: number; description: string }>

/** The codes that this folder distinguishes. */
export const serverCodes = {
  wrongLastSequence: 10_071,
  /** The same, while another message that expects something of the subject is still being replicated. */
  wrongLastSequenceForNow: 10_164,
  idInProcess: 10_158,
  messageTooLarge: 10_054,
  batchHoldsKnownId: 10_201,
  /** Some of its messages went to a former leader, or were refused: nothing is stored. */
  batchIncomplete: 10_176,
  tooManyBatches: 10_210,
  messageNotFound: 10_037,
  streamNotFound: 10_059,
  streamExistsOtherwise: 10_058,
  replicasNeedCluster: 10_074,
  reconfigureInProgress: 10_226,
  noPeers: 10_005,
  noMemory: 10_028,
  tooManyStreams: 10_027,
  notEnabled: 10_076,
  notEnabledForAccount: 10_039,
  rollupRefused: 10_111,
  sealed: 10_109,
  purgeRefused: 10_110,
  batchesRefused: 10_174,
} as const

/** What it means that nobody listens to the subjects of a stream that is there. */
export const noLeaderHint =
  'no server leads it now: the next leader is chosen within seconds, where most of the servers that have copies of it are up'

/** The disk, the stream or the account is full. */
const fullCodes: readonly number[] = [10_002, 10_023, 10_028, 10_047, 10_077]

/** The JSON of an answer, and its error if it has one. */
export function parseAnswer(
  data: Uint8Array,
): Readonly<{ answer: Record<string, unknown>; error: ServerError | undefined }> {
  const answer = JSON.parse(Buffer.from(data).toString()) as Record<string, unknown>
  const error = answer['error'] as Readonly<{ code?: number; err_code?: number; description?: string }> | undefined
  if (error === undefined) return { answer, error: undefined }
  const { code = 500, err_code = 0, description = '' } = error
  return { answer, error: { code: err_code, status: code, description } }
}

/** The server refuses to take these back, but not to restore a backup whose configuration is without them. */
const forGood =
  'which the server does not take back: back the stream up (nats stream backup), set sealed and deny_purge to false in its backup.json, ' +
  'delete the stream, and restore it from there'

/** What somebody has set on a stream that we make without it. */
function settingHint({ code, description }: ServerError): string | undefined {
  if (code === serverCodes.messageTooLarge) return 'somebody has set its max_msg_size: set it to -1'
  if (code === serverCodes.batchesRefused) return 'somebody has taken its allow_atomic away: set it to true'
  if (code === serverCodes.sealed) return `somebody has sealed it, ${forGood}`
  if (code === serverCodes.purgeRefused) return `somebody has set its deny_purge, ${forGood}`
  if (/maximum messages/i.test(description)) return 'somebody has set its max_msgs: set it to -1'
  return undefined
}

/** The failure for an error. A 4xx is permanent, except for "too many requests" and "in process". */
export function failureOf(error: ServerError, operation: string, subject: string): Error {
  const { code, status, description } = error
  const cause = new Error(`${description} [${code}]`)
  const setting = settingHint(error)
  if (setting !== undefined) return new TransientError({ operation, subject, cause, hint: setting })
  if (fullCodes.includes(code)) {
    const hint = 'it is full: raise its max_bytes, or what the account or the server may store'
    return new TransientError({ operation, subject, cause, hint })
  }
  if (code === serverCodes.tooManyStreams) {
    const hint = 'an installation has one for each of PARTITIONS and two more: raise max_streams of its account'
    return new PermanentError({ operation, subject, cause, hint })
  }
  if (status >= 500 || status === 429 || status === 409) return new TransientError({ operation, subject, cause })
  return new PermanentError({ operation, subject, cause })
}

type ApiAnswer = Readonly<{ answer: Record<string, unknown> }> | Readonly<{ error: ServerError }>

/** Calls JetStream's API. Rejects with TransientError if there is no answer; an error is returned, for the caller to handle. */
export async function askApi(nats: Nats, operation: string, body: object = {}): Promise<ApiAnswer> {
  const received = await nats.request(`$JS.API.${operation}`, JSON.stringify(body))
  if (received.code === 503) {
    const description = 'JetStream does not answer'
    return { error: { code: serverCodes.notEnabled, status: 503, description } }
  }
  const { answer, error } = parseAnswer(received.data)
  return error === undefined ? { answer } : { error }
}

/** Calls JetStream's API, and rejects if it answers with an error. */
export async function callApi(
  nats: Nats,
  operation: string,
  body: object,
  doing: Readonly<{ operation: string; subject: string }>,
): Promise<Record<string, unknown>> {
  const asked = await askApi(nats, operation, body)
  if ('error' in asked) throw failureOf(asked.error, doing.operation, doing.subject)
  return asked.answer
}
