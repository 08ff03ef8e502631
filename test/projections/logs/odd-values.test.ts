import { expect } from 'chai'
import { describeOnEveryStore } from '#test/projections/traces/every-store.ts'
import { found, readerOf } from './given.ts'

describeOnEveryStore('projections/logs: values and names that are not plain', (newStore) => {
  it('compares a regular expression with words and whole values, and with no sign that the index puts beside them', async () => {
    const reader = await readerOf(newStore, [
      { message: 'cat sat', fields: { f: 'ab', g: 'ab cd', message: 'cat sat' } },
      { message: 'cat', fields: { f: 'abc', msg: 'cat' } },
      { fields: { f: 'x', g: 'y', timestamp: '2026-11-21T12:34:56Z' } },
    ])
    for (const [query, places] of [
      ['f:/.b/', [0]],
      ['f:/.ab/', []],
      ['f:/[^x]{3}/', [1]],
      ['f:/=ab/', []],
      ['g:/.{2}/', [0]],
      ['g:/.{3}/', []],
      ['g:/ab\\ cd/', [0]],
      ['g:/ab\\sc/', []],
      ['g:/=?ab.*/', [0]],
      ['message:/.{3}/', [0, 1]],
      ['msg:/./', []],
      ['msg:/~/', []],
      ['timestamp:/a?/', []],
      ['/./', [2]],
      ['/[^a-z]/', []],
      ['/x|[^a-z]/', [2]],
    ] as const) {
      expect(await found(reader, query), query).to.deep.equal(places)
    }
  })

  it('takes any regular expression that the search language takes: deep, long, or composed otherwise', async () => {
    const reader = await readerOf(newStore, [
      { message: 'aaa', fields: { f: 'aaa' } },
      { message: 'Café', fields: { f: 'Café' } },
      { message: 'b', fields: { f: 'b' } },
    ])
    for (const [expression, places] of [
      [`a${'{1}'.repeat(40)}.*`, [0]],
      [`b${'??'.repeat(40)}`, [2]],
      [`${'('.repeat(32)}a|c${')+'.repeat(32)}`, [0]],
      // One sign more is refused.
      [`${'a{0,64}'.repeat(15)}${'a?'.repeat(21)}`, [0]],
      ['café'.normalize('NFD'), [1]],
      ['caf[é-ê]'.normalize('NFD'), [1]],
    ] as const) {
      for (const name of ['', 'f:', 'a_field_that_nothing_has:']) {
        const query = `${name}/${expression}/`
        expect(await found(reader, query), query).to.deep.equal(name.startsWith('a') ? [] : places)
      }
    }
  })

  it('finds letters whose small form is one character and whose capital is two', async () => {
    const reader = await readerOf(newStore, [{ message: 'J\u030cob', fields: { f: 'W\u030a/J\u030cob 7' } }])
    for (const pattern of ['*J\u030cob', 'J\u030c?b', '*\u01f0ob']) {
      expect(await found(reader, pattern), pattern).to.deep.equal([0])
      expect(await found(reader, `f:${pattern}`), `f:${pattern}`).to.deep.equal([0])
    }
    expect(await found(reader, 'f:W\u030a/*\\ 7')).to.deep.equal([0])
  })

  it('finds numbers by how they begin, as they are written', async () => {
    const numbers = [-5, -52, 5, 1.5, 15, -0.25, '1 5', 'x-5']
    const reader = await readerOf(
      newStore,
      numbers.map((n) => ({ fields: { n } })),
    )
    for (const [query, places] of [
      ['n:-5*', [0, 1, 6, 7]],
      ['n:5*', [2, 6, 7]],
      ['n:1.5*', [3, 6]],
      ['n:1*', [3, 4, 6]],
      ['n:-0.2*', [5]],
      ['n:-1*', [6]],
    ] as const) {
      expect(await found(reader, query), query).to.deep.equal(places)
    }
  })

  it('finds a value without letters or digits by the whole of it, a message as well as a field', async () => {
    const reader = await readerOf(newStore, [
      { message: '👍', fields: { body: '👍', f: '—' } },
      { message: '👍 done', fields: { f: '—!' } },
      { message: '', fields: { service: '—' }, service: '—' },
    ])
    for (const [query, places] of [
      ['message:👍', [0]],
      ['-message:"👍"', [1, 2]],
      ['message:""', [2]],
      ['body:👍', [0]],
      ['f:—', [0]],
      ['service:—', [2]],
    ] as const) {
      expect(await found(reader, query), query).to.deep.equal(places)
    }
  })

  it('finds the field `source` of a record by its own value, unless that is the name of a source', async () => {
    const reader = await readerOf(newStore, [
      { fields: { source: 'nginx' } },
      { fields: { source: 'rum collector' } },
      { source: 'rum', fields: {} },
    ])
    for (const [query, places] of [
      ['source:nginx', [0]],
      ['source=nginx', [0]],
      ['source!=nginx', [1, 2]],
      ['source="RUM collector"', [1]],
      ['source:rum', [2]],
      ['source=RUM', [2]],
      ['source:logs', [0, 1]],
      ['source:coll*', [1]],
      ['source:*', [0, 1, 2]],
    ] as const) {
      expect(await found(reader, query), query).to.deep.equal(places)
    }
  })
})
