import { createHash } from 'node:crypto'
import { expect } from 'chai'
import { projections } from '#projections/registry.ts'
import { shapeOf } from '#projections/stores/row.ts'
import { stringifyJson } from '#src/lib/json.ts'

/**
 * The version of each projection, and a digest of the collections it has. A build of that version with other collections is refused, and
 * its projection stops: a digest never changes without its version.
 */
const known = {
  traces: '24 -nh-5HYImeRY',
  logs: '25 4xYWEUy04MVu',
  correlation: '21 _anNk10yzOQ-',
  allowance: '13 pPR9ntiZrqpF',
}

describe('the collections of the projections', () => {
  for (const { name, version, collections } of projections) {
    it(`of ${name} are those of its version`, () => {
      const shapes = Object.values(collections).map((collection) => shapeOf(collection))
      const digest = createHash('sha256').update(stringifyJson(shapes)).digest('base64url').slice(0, 12)
      expect(known).to.have.property(name, `${version} ${digest}`)
    })
  }
})
