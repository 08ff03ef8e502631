import http from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { expect } from 'chai'
import { plans } from '#src/config.ts'
import { ledgerAfter, ledgerSubject, monthOf, type Ledger } from '#src/events/allowance.ts'
import { partitionOf } from '#src/events/partition.ts'
import { workspaceIdOf } from '#src/events/workspace-id.ts'
import { acceptedSpans, auditedSpans, otlpPath, spansOf } from './audit.ts'
import { createSpanWorkspace } from './cli.ts'
import { untilIndexed } from './client.ts'
import { openInstallation } from './installation.ts'
import { randomNumbers } from './random.ts'
import { sendOnce } from './sender.ts'
import type { Server } from './server.ts'

type Drive = Readonly<{
  /** Addresses of ingest, whatever is behind them. */
  urls: readonly string[]
  key: string
  seed: number
  senders: number
  /** Spans of a request: from 1 to so many. */
  spansMax: number
  /** Spans to be sent in all, at least. */
  demand: number
  onAnswer: (answers: number) => void
}>

/** What senders were told: spans stored, spans sent, and how often they had to send again. */
type Driven = Readonly<{ accepted: number; sent: number; again: number; failures: readonly string[] }>

/** After these OTLP senders send again. */
const retryable = new Set([429, 502, 503, 504])

/** Waits until a key that was just made is known at each of these addresses: a request without spans is let in. */
export async function untilKeyIsKnown(urls: readonly string[], key: string): Promise<void> {
  const post = { path: otlpPath, key, body: auditedSpans('', 0), agent: false } as const
  for (const baseUrl of urls) {
    while ((await sendOnce({ baseUrl }, post)).status === 401) await pause(20)
  }
}

/** Senders that repeat a request, byte for byte and to any address, until it is answered. */
async function driveAllowance(drive: Drive): Promise<Driven> {
  const { urls, key, seed, senders, spansMax, demand, onAnswer } = drive
  const random = randomNumbers(seed)
  const below = (max: number): number => Math.floor(random() * max)
  const agent = new http.Agent({ keepAlive: true })
  const failures: string[] = []
  let [accepted, sent, again, answers] = [0, 0, 0, 0]

  const deliver = async (name: string, spans: number): Promise<void> => {
    const body = auditedSpans(name, spans)
    for (;;) {
      const baseUrl = urls[below(urls.length)] ?? ''
      const answer = await sendOnce({ baseUrl }, { path: otlpPath, key, body, agent }).catch(() => undefined)
      if (answer?.status === 200) {
        accepted += acceptedSpans(answer.body, spans)
        return onAnswer(++answers)
      }
      if (answer !== undefined && !retryable.has(answer.status)) {
        failures.push(`${name}: ${answer.status} ${answer.body}`)
        return undefined
      }
      again++
      await pause(100 + below(900))
    }
  }
  const sender = async (number: number): Promise<void> => {
    for (let request = 0; sent < demand && failures.length === 0; request++) {
      const spans = 1 + below(spansMax)
      sent += spans
      await deliver(`${seed} ${number} ${request}`, spans)
    }
  }
  await Promise.all(Array.from({ length: senders }, (_, number) => sender(number)))
  agent.destroy()
  return { accepted, sent, again, failures }
}

const killsMax = 6

/** A workspace with the free plan's allowance, and what takes its spans. */
type Spending = Readonly<{
  server: Pick<Server, 'dataFolder'> & Partial<Pick<Server, 'output'>>
  /** Where senders send. */
  urls: readonly string[]
  /** Every process behind these: a new key must be known at each. */
  processes: readonly string[]
  seed: number
  /** Ends one of four processes, by its number, and has another in its place. */
  kill(process: number): Promise<void>
}>

/**
 * Sixteen senders ask for more than the month allows while processes are killed: what they were told, what is counted, what is
 * found and what the ledger says must all be the allowance, to the span.
 */
export async function expectSpentToTheSpan({ server, urls, processes, seed, kill }: Spending): Promise<void> {
  const limit = plans['free']?.spansPerMonth ?? 0
  const { workspace, key } = await createSpanWorkspace(server, `seed-${seed}`, 'free')
  await untilKeyIsKnown(processes, key)
  const random = randomNumbers(seed)
  const killed: Promise<void>[] = []
  let nextKill = 20
  const onAnswer = (answers: number): void => {
    if (answers < nextKill || killed.length >= killsMax) return
    nextKill = answers + 10 + Math.floor(random() * 40)
    killed.push(kill(Math.floor(random() * 4)))
  }
  const driven = await driveAllowance({ urls, key, seed, senders: 16, spansMax: 512, demand: limit * 1.2, onAnswer })
  await Promise.all(killed)
  expect(driven.failures).to.deep.equal([])
  expect(killed.length, 'kills').to.be.at.least(3)
  expect(driven.accepted, `of ${driven.sent} sent, ${driven.again} times again`).to.equal(limit)
  await untilIndexed(server)
  expect(await spansOf(server, workspace)).to.deep.equal({ counted: limit, found: limit })
  expect((await endOfLedger(server, workspace)).spent).to.equal(limit)
}

/** This month's ledger of a workspace, once all that was reserved has ended. */
async function endOfLedger({ dataFolder }: Pick<Server, 'dataFolder'>, workspace: string): Promise<Ledger> {
  const { logs, close } = await openInstallation({ dataFolder })
  const log = partitionOf(logs)(workspaceIdOf(workspace))
  const subject = ledgerSubject(workspaceIdOf(workspace), monthOf(Date.now()))
  for (;;) {
    const head = await log.head()
    const ledger = ledgerAfter(await log.last(subject), log.epoch)
    if (ledger.open.length === 0) {
      await close()
      return ledger
    }
    await log.changed(head, new AbortController().signal)
  }
}
