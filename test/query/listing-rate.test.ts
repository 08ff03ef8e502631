import { expect } from 'chai'
import { limits } from '#src/config.ts'
import { createAdmission } from '#src/ingest/admission.ts'
import { createCursors } from '#src/query/cursor.ts'
import { createReads } from '#src/query/reads.ts'
import { createQueryRoutes } from '#src/query/routes.ts'
import { createSearches } from '#src/query/searches.ts'
import { tracesProjection } from '#projections/traces/fold.ts'
import { createMemoryIndexStore } from '#projections/stores/memory/store.ts'
import { foldIntoStore } from '#test/projections/traces/every-store.ts'
import { createFakeDirectory } from '#test/support/fake-directory.ts'
import { listen } from '#test/support/http.ts'

/** The listing, and its one key, where a key may send so many requests. */
async function listingWith(perKey: Readonly<{ requestsPerKeyPerSecond: number; requestsPerKeyBurst: number }>) {
  const directory = createFakeDirectory()
  const key = directory.addKey(directory.addWorkspace('acme'), 'api')
  const store = createMemoryIndexStore()
  await foldIntoStore(store, tracesProjection, [])
  const few = { ...limits, ...perKey }
  const clock = () => 1_795_240_000_000
  const admit = createAdmission({ directory: directory.view, limits: few, ticks: clock, onExposed: () => {} })
  const cursors = createCursors('secret')
  const context = { readerOf: () => store.reader, directory: directory.view, cursors, clock, limits: few }
  const routes = createQueryRoutes({
    ...context,
    searches: createSearches(context),
    reads: createReads(few),
    admitListing: (ctx) => admit(ctx, 'listing'),
    recordExport: async () => {},
  })
  const server = await listen({ routes })
  const get = (path: string) => fetch(server.baseUrl + path, { headers: { authorization: `Bearer ${key}` } })
  return { get, close: () => server.close() }
}

describe('the rate of the public listing', () => {
  it('is told with each answer; above it a key is asked to come again', async () => {
    const { get, close } = await listingWith({ requestsPerKeyPerSecond: 1, requestsPerKeyBurst: 2 })
    const ask = async (path: string) => {
      const { status, headers } = await get(path)
      return [status, headers.get('ratelimit'), headers.get('retry-after')] as const
    }
    expect(await ask('/api/v1/traces')).to.deep.equal([200, '"key";r=1;t=0', null])
    // What is refused counts too.
    expect(await ask('/api/v1/traces?limit=101')).to.deep.equal([400, '"key";r=0;t=1', null])
    const [status, rate, wait] = await ask('/api/v1/traces')
    expect([status, rate]).to.deep.equal([429, '"key";r=0;t=1'])
    expect(Number(wait)).to.be.within(1, 4)
    const refused = await get('/api/v1/traces')
    expect(await refused.json()).to.include({ code: 'rate_limited' })
    expect(refused.headers.get('ratelimit-policy')).to.equal('"key";q=2;w=2')
    await close()
  })

  it('is told in whole seconds: a window is no shorter than it takes to fill', async () => {
    const { get, close } = await listingWith({ requestsPerKeyPerSecond: 2, requestsPerKeyBurst: 3 })
    expect((await get('/api/v1/traces')).headers.get('ratelimit-policy')).to.equal('"key";q=3;w=2')
    await close()
  })
})
