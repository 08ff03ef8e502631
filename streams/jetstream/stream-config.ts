import { repeatWindowMs } from '../stream.ts'
import type { Nats } from './nats.ts'
import type { LogName } from './subjects.ts'

/** A stream's configuration in the server's form; only what matters here. Durations in ns. */
export type StreamConfig = Readonly<{
  name: string
  subjects: readonly string[]
  storage: string
  retention: string
  discard: string
  num_replicas: number
  max_bytes: number
  max_age: number
  max_msgs_per_subject: number
  duplicate_window: number
  deny_delete: boolean
  allow_direct: boolean
  allow_atomic: boolean
  allow_rollup_hdrs: boolean
  no_ack?: boolean
  sealed?: boolean
  persist_mode?: string
  mirror?: object
  sources?: readonly object[]
  subject_transform?: object
  republish?: Readonly<{ src: string; dest: string; headers_only: boolean }>
  metadata: Readonly<Record<string, string>>
}>

export type Wanted = Readonly<{ epoch: string; partitions: number; replicas: number; bytesMax: number }>

/** The number of replicas of a stream: as configured, else three if the server belongs to a cluster. */
export const replicasOn = (nats: Pick<Nats, 'server'>, asked: number | undefined): number =>
  asked ?? (nats.server().cluster ? 3 : 1)

const formatVersion = '1'
const duplicateWindowNs = repeatWindowMs * 1_000_000

/** Where the server republishes the headers of stored messages, for followers. */
export const storedSubject = ({ root }: LogName): string => `stored.${root}`

const subjectsIn = ({ root }: LogName, epoch: string): string => `${root}.${epoch}.>`
const republishedTo = (log: LogName): string => `${storedSubject(log)}.>`

export function configOf(log: LogName, { epoch, partitions, replicas, bytesMax }: Wanted): StreamConfig {
  return {
    name: log.stream,
    subjects: [subjectsIn(log, epoch)],
    storage: 'file',
    retention: 'limits',
    discard: 'new',
    num_replicas: replicas,
    max_bytes: bytesMax,
    max_age: 0,
    max_msgs_per_subject: -1,
    duplicate_window: duplicateWindowNs,
    deny_delete: true,
    allow_direct: true,
    allow_atomic: true,
    // Rollups remove messages. Also, the look-up of ids relies on this refusal (publish.ts).
    allow_rollup_hdrs: false,
    republish: { src: '>', dest: republishedTo(log), headers_only: true },
    metadata: { epoch, partitions: String(partitions), version: formatVersion },
  }
}

const check = (holds: boolean, problem: string): readonly string[] => (holds ? [] : [problem])

/** Settings of a stream by which acknowledged events could be lost. */
export function lossesOf(config: StreamConfig, replicas: number): readonly string[] {
  return [
    ...check(config.storage === 'file', 'storage is not file'),
    ...check(config.discard === 'new', 'discard is not new'),
    ...check(config.retention === 'limits', 'retention is not limits'),
    ...check(config.no_ack !== true, 'no_ack is set'),
    ...check(config.max_age === 0, 'max_age is set'),
    ...check(config.max_msgs_per_subject <= 0, 'max_msgs_per_subject is set'),
    ...check(config.deny_delete, 'deny_delete is not set'),
    ...check(!config.allow_rollup_hdrs, 'allow_rollup_hdrs is set'),
    ...check(config.persist_mode !== 'async', 'persist_mode is async'),
    ...check(config.num_replicas >= replicas, `replicas are ${config.num_replicas}, not ${replicas}`),
  ]
}

/** Settings of a stream that this program cannot work with, whatever the operator allows. */
export function misfitsOf(config: StreamConfig, log: LogName, partitions: number): readonly string[] {
  const { epoch = '', version } = config.metadata
  const subjects = subjectsIn(log, epoch)
  const stored = config.metadata['partitions']
  return [
    ...check(epoch !== '', 'its metadata has no epoch: another program has made it'),
    ...check(version === formatVersion, `its format is version ${version ?? 'unknown'}, not ${formatVersion}`),
    ...check(stored === String(partitions), `it was made for PARTITIONS=${stored ?? '?'}, which cannot be changed`),
    ...check(config.subjects.length === 1 && config.subjects[0] === subjects, `its subjects are not ${subjects}`),
    ...check(config.allow_direct && config.allow_atomic, 'allow_direct and allow_atomic are not both set'),
    ...check(config.duplicate_window >= duplicateWindowNs, 'its duplicate_window is less than an hour'),
    ...check(config.republish?.dest === republishedTo(log), `it does not republish to ${republishedTo(log)}`),
    ...check(config.sealed !== true, 'it is sealed'),
    ...check(config.subject_transform === undefined, 'what it stores by its subject_transform cannot be read'),
    ...check(config.mirror === undefined && config.sources === undefined, 'it is a copy of another stream'),
  ]
}
