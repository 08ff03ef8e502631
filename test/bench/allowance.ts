import type { ChildProcess } from 'node:child_process'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { createSpanWorkspace } from '../support/cli.ts'
import { newDataFolder, startServer } from '../support/server.ts'
import { BenchFailure } from './bench-client.ts'
import { bodyCount } from './bodies.ts'
import { nextMessage, startDriver, startProgram } from './drive.ts'
import { allOf, readUsage, usedBetween } from './process-usage.ts'
import { atMost, type Section } from './report.ts'
import { recordsPerRequest, type BenchContext } from './scale.ts'
import { makeSpanCorpus } from './span-corpus.ts'

const gates = ['open', 'kept'] as const
type Gate = (typeof gates)[number]
type Spent = { cpu: number; seconds: number; spans: number }

const connections = 8
/** Each round is a pair, in alternating order, so that what drifts on the machine meets both alike. */
const rounds = 10
/** Of the plan's million, so that the check is the usual one: far from the limit. */
const spansMax = 900_000

/** A data folder with a workspace whose plan has an allowance, and the key of its spans. */
async function prepare(): Promise<Readonly<{ dataFolder: string; key: string }>> {
  const dataFolder = await newDataFolder()
  process.once('exit', () => rmSync(dataFolder, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 }))
  const server = await startServer({ dataFolder })
  const { key } = await createSpanWorkspace(server, 'measured', 'pro')
  await server.stop()
  return { dataFolder, key }
}

type Worker = Readonly<{ child: ChildProcess; url: string; spent: Spent }>

async function startWorker(gate: Gate, dataFolder: string): Promise<Worker> {
  const child = startProgram('gate-worker.ts', gate, '--data', dataFolder)
  process.once('exit', () => child.kill('SIGKILL'))
  return { child, url: await nextMessage<string>(child), spent: { cpu: 0, seconds: 0, spans: 0 } }
}

/**
 * What the span allowance costs the processes that take spans: the same load, alternately into a worker that keeps it and into
 * one that grants everything.
 */
export async function benchAllowance({ scale, folder, startMs, say }: BenchContext): Promise<readonly Section[]> {
  const spans = Math.min(scale.spans, spansMax)
  say('making spans')
  const { bodies } = makeSpanCorpus(join(folder, 'spans'), {
    ...{ seed: scale.seed, spans, spansPerRequest: recordsPerRequest, startMs },
  })
  const { dataFolder, key } = await prepare()
  const driver = startDriver()
  const workers = { open: await startWorker('open', dataFolder), kept: await startWorker('kept', dataFolder) }
  const perTurn = Math.floor(bodyCount(bodies) / (2 * (rounds + 1)))
  let from = 0

  const turn = async ({ child, url, spent }: Worker, isCounted: boolean): Promise<void> => {
    const before = readUsage(child.pid ?? 0)
    const { answers, seconds } = await driver.run({
      ...{ kind: 'load', url: `${url}/api/traces/v1/otlp`, keys: [`Bearer ${key}`], headers: bodies.headers },
      ...{ file: bodies.file, offsets: bodies.offsets, from, to: from + perTurn, connections },
    })
    from += perTurn
    const [answer = ''] = answers.keys()
    if (answers.size !== 1 || !answer.startsWith('200')) throw new BenchFailure(`spans were answered ${answer}`)
    if (!isCounted) return
    spent.cpu += allOf(usedBetween(before, readUsage(child.pid ?? 0)))
    spent.seconds += seconds
    spent.spans += perTurn * recordsPerRequest
  }

  try {
    say('sending them in turns, with the allowance and without')
    for (let round = 0; round <= rounds; round++) {
      const order = round % 2 === 0 ? gates : gates.toReversed()
      for (const gate of order) await turn(workers[gate], round > 0)
    }
  } finally {
    driver.stop()
    for (const { child } of Object.values(workers)) child.kill('SIGKILL')
  }
  const cpuOf = ({ cpu, spans }: Spent): number => (cpu * 1e6) / spans
  const rateOf = ({ seconds, spans }: Spent): number => spans / seconds
  const [open, kept] = [workers.open.spent, workers.kept.spent]
  const rows = [
    {
      figure: 'worker with its allowance, per million spans',
      unit: 'CPU s',
      measured: cpuOf(kept),
      floors: [{ name: 'the same without one', value: cpuOf(open) }],
      ...atMost(1.03 * cpuOf(open)),
    },
    {
      figure: 'spans a second',
      unit: '/s',
      measured: rateOf(kept),
      floors: [{ name: 'the same without one', value: rateOf(open) }],
    },
  ]
  return [{ title: `The span allowance, ${rounds} pairs of turns`, rows }]
}
