import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect } from 'chai'
import { openBuilds } from '#src/compose/builds.ts'
import { foldersOf } from '#src/compose/folders.ts'
import { createSampler } from '#src/compose/threads/sampler.ts'
import { observeSamples, type Sampled, type IndexSample } from '#src/operations/index-samples.ts'
import { limits } from '#src/config.ts'
import { sealEvent } from '#src/events/codec.ts'
import { noCounts } from '#src/events/envelope.ts'
import { workspaceIdOf } from '#src/events/workspace-id.ts'
import { createMetrics } from '#src/operations/metrics.ts'
import { rebuild } from '#projections/builds/rebuild.ts'
import { createSqliteStream } from '#streams/sqlite/stream.ts'
import { makeFirstRun } from '../support/first-run.ts'
import { startProcess } from '../support/server-process.ts'

describe('samples of an index, compared with the log', () => {
  let dataFolder: string
  before(async () => {
    dataFolder = mkdtempSync(join(tmpdir(), 'throughline-sampler-'))
    const { logFolder, log } = foldersOf(dataFolder)
    mkdirSync(logFolder)
    await makeFirstRun(dataFolder)
    const stream = await createSqliteStream({ ...log, thread: false, limits })
    const body = Buffer.from(JSON.stringify([{ message: 'one line', level: 'info' }]))
    const header = {
      id: `acme.logs.${'1'.repeat(32)}`,
      type: 'logs.received',
      schemaVersion: 1,
      workspaceId: workspaceIdOf('acme'),
      keyId: null,
      receivedAt: Date.now(),
      retentionClass: '7d',
      identified: false,
      counts: { ...noCounts, logs: 1 },
      contentType: 'application/json',
    } as const
    await stream.append([sealEvent(header, body)])
    await stream.close()
    const context = await openBuilds(dataFolder)
    await rebuild(
      context,
      context.projections.filter(({ name }) => name === 'logs'),
    )
    await context.close()
  })
  after(() => rmSync(dataFolder, { recursive: true }))

  /** The first sample that is taken from now on. */
  const firstSample = async (): Promise<Sampled> => {
    const sampler = createSampler({ places: () => [{ dataFolder, partition: '0' }], everyMs: 1 })
    const found = Promise.withResolvers<Sampled>()
    sampler.listen((sample) => ('error' in sample ? found.reject(sample.error) : found.resolve(sample)))
    sampler.start()
    try {
      return await found.promise
    } finally {
      await sampler.stop()
    }
  }

  it('are taken in a thread while it is started, and tell what is not what the log says', async () => {
    const sample = await firstSample()
    expect(sample).to.deep.include({
      projection: 'logs',
      partition: '0',
      workspaceId: 'acme',
      entries: 1,
      different: 0,
    })
    const folder = join(dataFolder, 'index', sample.index, 'acme')
    const file = readdirSync(folder).find((name) => name.endsWith('.db')) ?? ''
    const database = new DatabaseSync(join(folder, file))
    database.exec(`UPDATE b_logs SET body = replace(body, 'one', 'two')`)
    database.close()
    expect(await firstSample()).to.deep.include({ entries: 1, different: 1 })
  })

  it('are taken by the server of what it folds', async () => {
    const argv = ['src/main.ts', '--port', '0', '--host', '127.0.0.1']
    const server = startProcess(argv, { THROUGHLINE_DATA: dataFolder, INDEX_SAMPLE_MS: '100' })
    await server.printed(/^logs-v\d+-\d+ differs from the log at 1 places of workspace acme:/, 0)
    await server.stop()
  })

  it('are counted, and told to the operator when they are not what the log says', async () => {
    const metrics = createMetrics()
    const lines: string[] = []
    let tell: (sample: IndexSample) => void = () => {}
    observeSamples(metrics, (onSample) => (tell = onSample), {
      projections: ['logs', 'traces'],
      partitions: ['2', '3'],
      warn: (line) => lines.push(line),
    })
    // From the start: whoever watches for growth sees none in a figure that is not there before.
    const none = await metrics.text()
    for (const labels of [
      'projection="traces",partition="2",outcome="different"',
      'projection="logs",partition="3",outcome="equal"',
      'partition="3",outcome="failed"',
    ])
      expect(none).to.include(`throughline_index_samples_total{${labels}} 0`)
    const sample = { projection: 'logs', index: 'logs-v1-001', partition: '3', workspaceId: 'acme', entries: 5 }
    tell({ ...sample, different: 0 })
    tell({ ...sample, different: 2 })
    // Of some it has none, which the log has.
    tell({ ...sample, different: 7 })
    // As where this program cannot fold what the index holds: what a sender wrote is quoted.
    tell({ partition: '2', error: new Error('no level is "a\u001b]0;b\u0007"\nThroughline listening') })
    const text = await metrics.text()
    expect(text).to.include('throughline_index_samples_total{projection="logs",partition="3",outcome="equal"} 1')
    expect(text).to.include('throughline_index_samples_total{projection="logs",partition="3",outcome="different"} 2')
    expect(text).to.include('throughline_index_samples_total{partition="2",outcome="failed"} 1')
    expect(text).to.include(
      'throughline_index_sampled_entries_total{projection="logs",partition="3",outcome="equal"} 8',
    )
    expect(text).to.include(
      'throughline_index_sampled_entries_total{projection="logs",partition="3",outcome="different"} 9',
    )
    expect(lines).to.deep.equal([
      'logs-v1-001 differs from the log at 2 places of workspace acme: see throughline verify logs',
      'logs-v1-001 differs from the log at 7 places of workspace acme: see throughline verify logs',
      String.raw`an index of partition 2 could not be compared with the log: no level is "a\u001b]0;b\u0007"\nThroughline listening`,
    ])
  })
})
