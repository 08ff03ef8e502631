import { PermanentError, TransientError } from '#src/lib/failure.ts'
import { askApi, callApi, failureOf, serverCodes } from './api.ts'
import type { Nats } from './nats.ts'
import type { StreamConfig } from './stream-config.ts'
import type { LogName } from './subjects.ts'

export type StreamInfo = Readonly<{
  config: StreamConfig
  state: Readonly<{ first_seq: number; last_seq: number; messages: number }>
  /** The servers that have copies, besides the leader. */
  cluster?: Readonly<{ replicas?: readonly Readonly<{ current: boolean; offline?: boolean }>[] }>
}>

export const infoOf = (answer: Record<string, unknown>): StreamInfo => answer as unknown as StreamInfo

/** The stream's configuration and state; undefined when there is none. */
export async function streamInfo(nats: Nats, stream: string): Promise<StreamInfo | undefined> {
  const asked = await askApi(nats, `STREAM.INFO.${stream}`)
  if ('answer' in asked) return infoOf(asked.answer)
  if (asked.error.code === serverCodes.streamNotFound) return undefined
  throw failureOf(asked.error, 'look at', `stream ${stream}`)
}

/** Sequences of the first and last message; `first` is beyond `last` if the log is empty. `cut`: the last one that was cut off. */
export type Ends = Readonly<{ first: number; last: number; cut: number }>

export function endsIn({ config, state }: StreamInfo): Ends {
  const { first_seq: first, last_seq: last, messages } = state
  return { first: messages === 0 ? last + 1 : first, last, cut: Number(config.metadata['cut'] ?? '0') }
}

/** Of a stream that a running process had. It may come back, or another be made in its place. */
export function goneFailure({ stream }: LogName, operation: string): TransientError {
  const hint = 'it is not there: if it was removed, put it back from a backup of NATS'
  return new TransientError({ operation, subject: `stream ${stream}`, hint })
}

/**
 * The current ends of a log; `see` is shown the configuration that comes with them. Throws PermanentError if the log was recreated,
 * TransientError if it is gone.
 */
export async function endsOf(
  nats: Nats,
  log: LogName,
  epoch: string,
  see: (config: StreamConfig) => void = () => {},
): Promise<Ends> {
  const info = await streamInfo(nats, log.stream)
  if (info === undefined) throw goneFailure(log, 'look at')
  const subject = `stream ${log.stream}`
  if (info.config.metadata['epoch'] === epoch) {
    see(info.config)
    return endsIn(info)
  }
  const hint = 'it was made anew and is another log: restart this process, and rebuild its indexes'
  throw new PermanentError({ operation: 'look at', subject, hint })
}

/** Notes in the stream's metadata where the log is cut off, since messages missing at its beginning may also have been erased. */
export async function noteCut(nats: Nats, { stream }: LogName, sequence: number): Promise<void> {
  const info = await streamInfo(nats, stream)
  if (info === undefined || Number(info.config.metadata['cut'] ?? '0') >= sequence) return
  const metadata = { ...info.config.metadata, cut: String(sequence) }
  const doing = { operation: 'cut', subject: `stream ${stream}` }
  await callApi(nats, `STREAM.UPDATE.${stream}`, { ...info.config, metadata }, doing)
}
