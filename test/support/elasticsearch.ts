/** A request to the Elasticsearch that tests share, beside the code under test. */
export async function askElasticsearch(
  address: string,
  path: string,
  { method = 'GET', body }: Readonly<{ method?: string; body?: string }> = {},
): Promise<Record<string, unknown>> {
  const url = new URL(address)
  const headers: Record<string, string> = { 'content-type': 'application/json' }
  if (url.username !== '') {
    const credentials = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`
    headers['authorization'] = `Basic ${Buffer.from(credentials).toString('base64')}`
  }
  const response = await fetch(new URL(path, url.origin), { method, headers, ...(body === undefined ? {} : { body }) })
  return (await response.json()) as Record<string, unknown>
}

/** Names of the indices that begin with a prefix. */
export async function indicesWith(address: string, prefix: string): Promise<readonly string[]> {
  const found = await askElasticsearch(address, `/_resolve/index/${prefix}*`)
  return ((found['indices'] ?? []) as readonly { name: string }[]).map(({ name }) => name)
}

export async function removeIndices(address: string, prefix: string): Promise<void> {
  const names = await indicesWith(address, prefix)
  if (names.length > 0) await askElasticsearch(address, `/${names.join(',')}`, { method: 'DELETE' })
  await askElasticsearch(address, `/_index_template/${prefix}-state`, { method: 'DELETE' })
}
