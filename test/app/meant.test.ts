import { expect } from 'chai'
import { plans } from '#src/config.ts'
import { present } from '#src/lib/assert.ts'
import { ok } from '#src/lib/result.ts'
import { meantBy } from '#src/app/search/meant/meant.ts'

describe('what may have been meant by a search that has found nothing', () => {
  const plan = present(plans['pro'], 'a plan')
  const asked = { conditions: new URLSearchParams('service=checkot&q=a:b'), cursors: [], plan }
  const known = ok({ logs: [], facets: [{ field: 'service', values: [{ value: 'checkout' }] }] })
  const none = ok({ logs: [], facets: [] })

  it('is said as far as it is known where the rest takes too long', async () => {
    const never = new Promise<never>(() => undefined)
    const { markup } = await meantBy('/app/logs', asked, 'a:b', (given) => {
      const search = new URLSearchParams(given)
      if (!search.has('include')) return never
      return Promise.resolve(search.has('service') || search.has('q') ? none : known)
    })
    expect(markup).to.include('Did you mean the service').and.include('service=checkout')
  })

  it('is not asked for any more once the page is there without it', async () => {
    const searches: string[] = []
    const answers = Promise.withResolvers<typeof known>()
    const { markup } = await meantBy('/app/logs', asked, 'a:b', (search) => {
      searches.push(search)
      return answers.promise
    })
    expect(markup).to.equal('')
    answers.resolve(ok({ ...known.value, facets: [] }))
    await new Promise(setImmediate)
    expect(searches).to.have.length(1)
  })
})
