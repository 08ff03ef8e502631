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
  const found = await askElasticsearch(address, `/_resolve/index/${prefix}*?expand_wildcards=all`)
  return ((found['indices'] ?? []) as readonly { name: string }[]).map(({ name }) => name)
}

/** As many names as an address holds, which Elasticsearch reads to 4,096 characters. */
const namesAtOnce = 50

/** Many at once: each change of what a cluster has costs it as much as the next. */
export async function removeIndices(address: string, prefix: string): Promise<void> {
  const names = await indicesWith(address, prefix)
  for (let at = 0; at < names.length; at += namesAtOnce) {
    await askElasticsearch(address, `/${names.slice(at, at + namesAtOnce).join(',')}`, { method: 'DELETE' })
  }
  await askElasticsearch(address, `/_index_template/${prefix}-state`, { method: 'DELETE' })
}
