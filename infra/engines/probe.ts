const probeTimeoutMs = 5_000

/** What answers 200 as soon as a server serves, and for whom: `user:password`. */
export type Probe = Readonly<{ url: string; credentials?: string }>

/** Whether the server serves. */
export async function answers({ url, credentials }: Probe): Promise<boolean> {
  const headers =
    credentials === undefined ? {} : { authorization: `Basic ${Buffer.from(credentials).toString('base64')}` }
  try {
    const response = await fetch(url, { headers, signal: AbortSignal.timeout(probeTimeoutMs) })
    await response.body?.cancel()
    return response.status === 200
  } catch {
    return false
  }
}

/** `GET /` has no handler in the smallest distribution of Elasticsearch. */
export const elasticsearchProbe = (address: string, credentials: string): Probe => ({
  url: `http://${address}/_cluster/health?wait_for_status=yellow&timeout=1s`,
  credentials,
})

export const natsProbe = (address: string): Probe => ({ url: `http://${address}/healthz` })
