import { chmod, mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { expect } from 'chai'
import { partitionNumber } from '#src/events/partition.ts'
import { workspaceIdOf } from '#src/events/workspace-id.ts'
import type { JsonObject } from '#src/lib/json.ts'
import { cli } from '../support/cli.ts'
import { listOf, untilIndexed } from '../support/client.ts'
import { askElasticsearch } from '../support/elasticsearch.ts'
import { enginesTimeoutMs } from '../support/engines.ts'
import type { FirstRun } from '../support/server.ts'
import { sendingTo } from '../support/workspace.ts'
import { createTestCluster, type RoleProcess, type TestCluster } from './cluster-process.ts'

describe('samples of a cluster’s indexes, compared with the log', function () {
  this.timeout(600_000)
  let test: TestCluster
  let projectors: readonly RoleProcess[]
  let finder: RoleProcess
  let partition: number

  /** What a process says of its samples of the logs: how many were so. */
  async function sampled({ operationsUrl }: RoleProcess, outcome: string): Promise<number> {
    const figures = await (await fetch(`${operationsUrl}/metrics`)).text()
    const labels = `{projection="logs",partition="${partition}",outcome="${outcome}"}`
    const line = figures.split('\n').find((each) => each.startsWith(`throughline_index_samples_total${labels} `))
    return Number(line?.split(' ').at(-1) ?? 0)
  }
  /** Waits until one of them has taken another sample with this outcome; which. */
  async function untilSampled(outcome: string, processes: readonly RoleProcess[]): Promise<RoleProcess> {
    const before = await Promise.all(processes.map((each) => sampled(each, outcome)))
    for (;;) {
      for (const [at, each] of processes.entries()) if ((await sampled(each, outcome)) > (before[at] ?? 0)) return each
      await setTimeout(50)
    }
  }

  before(async function () {
    this.timeout(enginesTimeoutMs)
    test = await createTestCluster()
    const often = { INDEX_SAMPLE_MS: '250' }
    const starting = ['ingest', 'project', 'project'].map((role) => test.start(role, often))
    const [ingest, ...rest] = (await Promise.all(starting)) as [RoleProcess, ...RoleProcess[]]
    projectors = rest
    await cli(test, 'first-run', '--base-url', ingest.baseUrl)
    const firstRun = JSON.parse(await readFile(join(test.dataFolder, 'first-run.json'), 'utf8')) as FirstRun
    const { id } = listOf(await cli(test, 'workspace', 'list'), 'workspaces')[0] ?? {}
    partition = partitionNumber(workspaceIdOf(String(id)), test.cluster.config.partitions)
    await sendingTo(ingest, firstRun.keys).logs([{ message: 'stored as it was sent' }])
    await untilIndexed({ dataFolder: test.dataFolder, output: ingest.lines })
  })
  after(() => test.remove())

  it('are taken by whoever folds the partition, and shown when they are not what the log says', async () => {
    const { indexPrefix, elasticsearchUrl } = test.cluster.config
    const days = `/${indexPrefix}-logs-v*-logs-*`
    const found = (await askElasticsearch(elasticsearchUrl, `${days}/_search`, { method: 'GET' })) as JsonObject
    const [hit] = listOf(found['hits'] as JsonObject, 'hits') as [JsonObject]
    const source = hit['_source'] as JsonObject
    const path = `/${String(hit['_index'])}/_doc/${encodeURIComponent(String(hit['_id']))}`
    await askElasticsearch(elasticsearchUrl, `${path}?routing=${String(hit['_routing'])}`, {
      method: 'PUT',
      body: JSON.stringify({ ...source, b: String(source['b']).replace('sent', 'felt') }),
    })
    finder = await untilSampled('different', projectors)
    await finder.printed(/^logs-v\d+-001 differs from the log at 1 places of workspace/, 0)
    await finder.kill()
    const others = projectors.filter((each) => each !== finder)
    await untilSampled('different', others)
    expect(others.flatMap(({ lines }) => lines).join('\n')).not.to.include('could not be compared')
  })

  it('are not taken where there is no room for them, which is told; folding goes on', async () => {
    const noFolder = join(test.dataFolder, 'first-run.json')
    const roomless = await test.start('project', { INDEX_SAMPLE_MS: '100', TMPDIR: noFolder })
    const said = /^an index of partition \d could not be compared with the log: make the folder|ended unexpectedly/
    expect(await roomless.printed(said, 0)).not.to.match(/ended unexpectedly/)
    expect(await roomless.printed(said)).not.to.match(/ended unexpectedly/)
    await roomless.stop()
  })

  const folderIn = (room: string): string => join(room, `throughline-samples-${process.getuid?.() ?? 'own'}`)

  it('remove nothing where another user may have made their folder', async () => {
    const room = join(test.dataFolder, 'shared')
    const scratch = join(folderIn(room), 'scratch')
    await mkdir(join(scratch, 'of somebody'), { recursive: true })
    await chmod(folderIn(room), 0o755)
    const mine = await test.start('project', { INDEX_SAMPLE_MS: '100', TMPDIR: room })
    expect(await mine.printed(/could not be compared with the log/, 0)).to.include("is not this user's alone")
    await mine.stop()
    expect(await readdir(scratch)).to.deep.equal(['of somebody'])
  })

  it('leave nothing behind, neither their own nor what a process that was killed has left', async () => {
    const room = join(test.dataFolder, 'temporary')
    const scratch = join(folderIn(room), 'scratch')
    await mkdir(join(scratch, 'builds-killed'), { recursive: true, mode: 0o700 })
    await writeFile(join(scratch, 'builds-killed', 'day.db'), 'of somebody')
    const others = projectors.filter((each) => each !== finder)
    const mine = await test.start('project', { INDEX_SAMPLE_MS: '100', TMPDIR: room })
    expect(await readdir(scratch)).not.to.include('builds-killed')
    await Promise.all(others.map((each) => each.kill()))
    await untilSampled('different', [mine])
    await mine.stop()
    expect(await readdir(scratch)).to.deep.equal([])
  })
})
