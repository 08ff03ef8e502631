import { expect } from 'chai'
import { eachSignedIn, type SignedIn } from './signed-in.ts'

describe('a range whose ends are the same time', () => {
  let browser: SignedIn['browser']
  eachSignedIn((signedIn) => {
    ;({ browser } = signedIn)
  })

  it('is said to be one, on each page of a search', async () => {
    const words = 'are the same time, and nothing is between them.'
    for (const page of ['logs', 'traces', 'patterns', 'sessions', 'map']) {
      const { text } = await browser.get(`/app/${page}?from=2026-11-20&to=2026-11-20T00:00:00Z`)
      expect(text, page).to.include(words)
      const { text: other } = await browser.get(`/app/${page}?from=2026-11-20&to=2026-11-21`)
      expect(other, page).to.include('match.').and.not.include(words)
    }
  })
})
