import { writeClusterSecrets } from '#src/directory/cluster-secrets.ts'
import { positionStep } from '#src/events/envelope.ts'
import { ok } from '#src/lib/result.ts'
import { compareLogs, type ComparedWorkspace } from '#streams/compare-logs.ts'
import { copyLog, type CopiedLog } from '#streams/copy-log.ts'
import { withProgress } from './progress.ts'
import { optional, required } from './options.ts'
import { table } from './show.ts'
import type { Verb, VerbContext } from './verb.ts'

type Compared = ComparedWorkspace & Readonly<{ log: 'telemetry' | 'directory' }>

const digitsShown = 16

function stateOf({ equal, copy, source, later }: Compared): string {
  if (!equal) return copy.events < source.events ? `${source.events - copy.events} missing` : 'different'
  return later === 0 ? 'equal' : `equal, ${later} later`
}

const rowOf = (each: Compared): readonly string[] => [
  each.log,
  each.log === 'directory' ? '' : each.partition,
  each.workspaceId,
  String(each.source.events),
  each.source.digest.slice(0, digitsShown),
  each.copy.digest.slice(0, digitsShown),
  stateOf(each),
]

const jsonOf = ({ log, partition, workspaceId, source, copy, later, equal }: Compared) => ({
  log,
  partition,
  workspace: workspaceId,
  source,
  copy,
  later,
  equal,
})

/** Copies the partitions before the directory: as long as the directory is not there, no key works there and nobody can sign in. */
async function copy(given: VerbContext, logs: readonly CopiedLog[]): Promise<number> {
  // Nothing is written anywhere while one of them holds something else.
  for (const { targets } of logs) await Promise.all(targets.map((target) => target.copied()))
  let events = 0
  for (const log of logs) {
    const phase = log.keepsPositions ? 'copy directory' : 'copy telemetry'
    events += await withProgress(given, (tell) =>
      copyLog(log, { onProgress: (position, until) => tell({ phase, position, from: 0, until }) }),
    )
  }
  return events
}

async function compare(given: VerbContext, log: CopiedLog, name: Compared['log']): Promise<readonly Compared[]> {
  const phase = `compare ${name}`
  const compared = await withProgress(given, (tell) =>
    compareLogs(log, (done, all) => tell({ phase, position: done * positionStep, from: 0, until: all * positionStep })),
  )
  return compared.map((each) => ({ ...each, log: name }))
}

function summaryOf(compared: readonly Compared[], equal: boolean): string {
  if (!equal) {
    return 'The copy is not what the data folder holds. Where events are missing, run this again without --verify-only; otherwise start over with empty streams.'
  }
  const events = compared.reduce((sum, { source }) => sum + source.events, 0)
  return `The copy is equal: ${events.toLocaleString('en')} events, in their order.`
}

export const moveLog: Verb = {
  usage: '--from DATA [--to NATS_URL] [--verify-only]',
  about:
    'copies the log and the directory of a stopped embedded server to a cluster’s NATS, and compares both sides; continues where it was interrupted; exit code 0 equal, 1 different, 2 failed',
  options: { from: { type: 'string' }, to: { type: 'string' }, 'verify-only': { type: 'boolean' } },
  failureCode: 2,
  run: async (given) => {
    const dataFolder = required(given, 'from')
    const verifyOnly = given.options['verify-only'] === true
    const move = await given.services.openMove({ dataFolder, natsUrl: optional(given, 'to'), verifyOnly })
    try {
      const { telemetry, directory, secrets } = move
      const copied = verifyOnly ? 0 : await copy(given, [telemetry, directory])
      const compared = [
        ...(await compare(given, telemetry, 'telemetry')),
        ...(await compare(given, directory, 'directory')),
      ]
      const equal = compared.every((each) => each.equal)
      const file = equal && !verifyOnly ? writeClusterSecrets(dataFolder, secrets) : undefined
      const heading = ['LOG', 'PARTITION', 'WORKSPACE', 'EVENTS', 'DATA FOLDER', 'CLUSTER', 'STATE']
      const advice = `Start every process of the cluster with KEY_PEPPER and SESSION_KEYS of ${file ?? ''}, which are secrets: its keys, passwords and sessions then work there.`
      return ok({
        json: { equal, copied, workspaces: compared.map(jsonOf), secrets_file: file ?? null },
        text: [
          table([heading, ...compared.map(rowOf)]),
          ...(verifyOnly ? [] : [`${copied.toLocaleString('en')} events were copied.`]),
          summaryOf(compared, equal),
          ...(file === undefined ? [] : [advice]),
        ].join('\n'),
        exitCode: equal ? 0 : 1,
      })
    } finally {
      await move.close()
    }
  },
}
