import { readFileSync } from 'node:fs'
import { expect } from 'chai'
import { limits, plans } from '#src/config.ts'
import { rowsUnder } from '#test/support/page-rows.ts'

const units: Readonly<Record<string, number>> = { dayMs: 86_400_000 }
/** `8 * 1024`, `7 * dayMs`, `300_000n`. */
const product = (text: string): number =>
  text.split(' * ').reduce((value, factor) => value * (units[factor] ?? Number(factor.replaceAll(/_|n$/g, ''))), 1)

/** What a file says that a bound is, where it is made: `name = 5` or `name: 5`. */
function valueIn(file: string, name: string): number {
  const [, text = ''] = new RegExp(`\\b${name}(?: =|:) (\\d\\w*(?: \\* \\w+)*)`).exec(readFileSync(file, 'utf8')) ?? []
  return product(text)
}

describe('limits', () => {
  it('of config.ts are in the table of the README, with their values', () => {
    const rows = rowsUnder('README.md', 'Limits').map(([, name = '', value]) => [name, Number(value)] as const)
    expect(Object.fromEntries(rows)).to.deep.equal({ ...limits })
    expect(rows.length, 'a limit that is there twice').to.equal(Object.keys(limits).length)
  })

  it('are what senders and readers were promised, whatever the table says', () => {
    expect(limits).to.include({
      bodyBytesMax: 20 * 1024 * 1024,
      decodedBytesMax: 64 * 1024 * 1024,
      bodyTimeoutMs: 10_000,
      recordsPerBatchMax: 10_000,
      recordBytesMax: 1024 * 1024,
      attributesPerRecordMax: 256,
      nestingDepthMax: 32,
      rejectionsListedMax: 20,
      sessionIdCharactersMax: 128,
      patternExpansionsMax: 1_000,
    })
    expect(plans['free']).to.deep.include({ features: ['logs', 'tracing'], spansPerMonth: 50_000 })
    expect(plans['pro']).to.deep.include({ features: ['logs', 'tracing', 'api_access'], spansPerMonth: 1_000_000 })
  })

  it('that stand in other files are in the table of the operator’s page, with their values', () => {
    const rows = rowsUnder('infra/operating.md', 'Fixed bounds')
    expect(rows.length).to.be.greaterThan(50)
    const wrong = rows.flatMap(([, name = '', shown, file = '']) => {
      const value = valueIn(file, name)
      return value === Number(shown) ? [] : [`${file}: ${name} is ${value}, not ${shown}`]
    })
    expect(wrong).to.deep.equal([])
  })
})
