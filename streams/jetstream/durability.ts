import { PermanentError } from '#src/lib/failure.ts'
import type { Nats } from './nats.ts'

/**
 * Evidence that the servers sync a message to disk before they acknowledge it. A client cannot see that setting; only `/jsz` of a server's
 * monitoring port shows it. `monitoring`: those addresses, of every server. `stated`: the operator vouches for it.
 */
export type DurabilityProof = Readonly<{ monitoring: readonly string[] }> | Readonly<{ stated: true }>

const operation = 'see whether NATS syncs before it acknowledges at'
const answerTimeoutMs = 5_000

type Monitored = Readonly<{ serverId: string; syncAlways: boolean; storageBytes: number }>

/** Where a server tells of itself, and what a proxy before it asks for: `fetch` takes no address with credentials, and would show them. */
function pageOf(address: string) {
  const url = new URL('/jsz', address)
  const { username, password } = url
  url.username = url.password = ''
  if (username === '' && password === '') return { url, headers: {} }
  const credentials = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`
  return { url, headers: { authorization: `Basic ${Buffer.from(credentials).toString('base64')}` } }
}

async function ask(address: string): Promise<Monitored> {
  const subject = address.replace(/\/\/[^@/]*@/, '//')
  try {
    const { url, headers } = pageOf(address)
    const answer = await fetch(url, { headers, signal: AbortSignal.timeout(answerTimeoutMs) })
    const { server_id = '', config } = (await answer.json()) as {
      server_id?: string
      config?: { sync_always?: boolean; max_storage?: number }
    }
    return { serverId: server_id, syncAlways: config?.sync_always === true, storageBytes: config?.max_storage ?? 0 }
  } catch (cause) {
    const hint = 'is it the monitoring address of nats-server (http_port), and right?'
    throw new PermanentError({ operation, subject, hint, cause })
  }
}

type Durability = Readonly<{
  /** Reasons why acknowledged events could be lost, one a line; empty: it is proven that they cannot. */
  doubts: readonly string[]
  /** The smallest storage limit of the servers, if it was seen. */
  storageBytes: number | undefined
}>

/** Asks every monitoring address. Throws PermanentError if one does not answer: evidence that is configured must be available. */
export async function examineDurability(nats: Nats, proof: DurabilityProof | undefined): Promise<Durability> {
  if (proof === undefined) {
    const hint =
      'whether NATS syncs before it acknowledges cannot be seen: give NATS_MONITORING_URL, or say NATS_SYNC_ALWAYS=1'
    return { doubts: [hint], storageBytes: undefined }
  }
  if ('stated' in proof) return { doubts: [], storageBytes: undefined }
  const seen = await Promise.all(proof.monitoring.map(ask))
  const lazy = proof.monitoring.filter((_, index) => seen[index]?.syncAlways !== true)
  const doubts = lazy.map(
    (address) => `${new URL(address).host} does not sync before it acknowledges: set sync_interval: always`,
  )
  if (!seen.some(({ serverId }) => serverId === nats.server().id)) {
    doubts.push('NATS_MONITORING_URL does not name the server that NATS_URL led to: name every server of the cluster')
  }
  return { doubts, storageBytes: Math.min(...seen.map(({ storageBytes }) => storageBytes)) || undefined }
}
