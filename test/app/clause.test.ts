import { expect } from 'chai'
import { canBeNamed, clauseOf } from '#src/app/search/clause.ts'
import { limits } from '#src/config.ts'
import { valueTokens } from '#src/events/tokens.ts'
import { parseQuery } from '#src/query/language/parse-query.ts'
import { fieldNames, numbers, oddities, words } from '#test/differential/pools.ts'

describe('clauses that links are made of', () => {
  it('ask for the field and the value that they were made of, however odd', () => {
    const texts = [...words, ...oddities, ...numbers, '', ' ', 'OR', 'a | b']
    for (const field of fieldNames.filter(canBeNamed)) {
      for (const text of texts) {
        const [only, not] = [false, true].map((isNegated) => {
          const clause = clauseOf({ field, operator: '=', text }, isNegated)
          const parsed = parseQuery(clause, limits)
          if (!parsed.ok) throw new Error(`${clause}: ${parsed.error.detail}`)
          return parsed.value.tree
        })
        const made = JSON.stringify([field, text])
        if (only?.kind !== 'equals') throw new Error(`${made} is no comparison`)
        expect(valueTokens(only.field, only.value), made).to.deep.equal(valueTokens(field, text))
        expect(not, made).to.deep.equal({ kind: 'not', of: only })
      }
    }
  })

  it('name no field that has no name', () => {
    expect(['', ' ', '@ ', 'a', '@', '.'].filter(canBeNamed)).to.deep.equal(['a', '@', '.'])
  })
})
