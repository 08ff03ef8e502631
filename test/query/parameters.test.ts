import { expect } from 'chai'
import { z } from 'zod'
import { limits } from '#src/config.ts'
import { formatDuration } from '#src/app/format.ts'
import {
  duration,
  limitOf,
  listOf,
  queryFingerprint,
  readParameters,
  sessionIdCharactersMax,
  text,
} from '#src/query/parameters.ts'

const schema = z.object({
  service: text(8),
  level: listOf(z.enum(['info', 'error']), 2),
  limit: limitOf(200, 20),
  min_duration: text(64),
})

describe('query parameters', () => {
  const refused = (search: string): readonly [string, string] => {
    const result = readParameters(search, schema)
    return result.ok ? ['', ''] : [result.error.code, result.error.detail]
  }

  it('take a session id as long as one may be stored', () => {
    expect(sessionIdCharactersMax).to.equal(limits.sessionIdCharactersMax)
  })

  it('takes a duration as pages show it', () => {
    const ofDuration = z.object({ min_duration: duration })
    for (const ns of [17n, 950_000n, 21_500_000n, 1_250_000_000n, 90_000_000_000n, 266_112_000_000_000n]) {
      const search = new URLSearchParams({ min_duration: formatDuration(ns) }).toString()
      expect(readParameters(search, ofDuration), search).to.deep.equal({ ok: true, value: { min_duration: ns } })
    }
    for (const wrong of ['5', '5 ', '1 s 2 ms', 's', '- 1 s', '-1s', '%2B1s', '1 parsec', '1kb']) {
      expect(readParameters(`min_duration=${wrong}`, ofDuration).ok, wrong).to.equal(false)
    }
  })

  it('reads what is given, with defaults; an empty text is not given', () => {
    const read = readParameters('service=&level=info,error', schema)
    expect(read).to.deep.equal({ ok: true, value: { level: ['info', 'error'], limit: 20 } })
    expect(readParameters('level=&limit=&service=&service=a', schema)).to.deep.equal({
      ok: true,
      value: { service: 'a', limit: 20 },
    })
    expect(readParameters('level=info&level=error', schema))
      .to.have.nested.property('value.level')
      .deep.equal(['info', 'error'])
  })

  it('reads what is given very often as fast as it is long', function () {
    // Hours, if all that was given before were looked at each time.
    this.timeout(60_000)
    expect(refused('service=a&'.repeat(400_000))).to.deep.equal(['invalid_parameter', 'service: given more than once'])
  })

  it('reads an item of a list in quotes, for the commas in it', () => {
    const names = z.object({ fields: listOf(z.string().max(64), 8) })
    for (const [list, items] of [
      ['a,"b,c",d', ['a', 'b,c', 'd']],
      ['"a"', ['a']],
      ['"",,a', ['a']],
      ['"say \\"x,y\\"","c:\\dir\\\\"', ['say "x,y"', 'c:\\dir\\']],
      ['a"b,c"', ['a"b', 'c"']],
      ['"a,b', ['"a', 'b']],
      ['"a"b,c', ['"a"b', 'c']],
    ] as const) {
      const read = readParameters(`fields=${encodeURIComponent(list)}`, names)
      expect(read.ok && read.value.fields, list).to.deep.equal(items)
    }
  })

  it('names an unknown parameter and the nearest known one', () => {
    expect(refused('servce=x')).to.deep.equal([
      'unknown_parameter',
      'unknown parameter "servce": did you mean service?',
    ])
    expect(refused('minDuration=1s')[1]).to.include('min_duration')
    expect(refused('zzzzzzzzzz=1')[1]).to.include('known are service, level, limit, min_duration')
    expect(refused('__proto__=1')[0]).to.equal('unknown_parameter')
    expect(refused('servce=')[0]).to.equal('unknown_parameter')
  })

  it('ignores a workspace that the client names', () => {
    expect(readParameters('workspace=a&workspace_id=b&workspaceId=c', schema).ok).to.equal(true)
  })

  for (const [search, path] of [
    ['limit=0', 'limit'],
    ['limit=201', 'limit'],
    ['limit=1e2', 'limit'],
    ['limit=-1', 'limit'],
    ['limit=20&limit=20', 'limit'],
    ['limit=1.5', 'limit'],
    ['limit=twenty', 'limit'],
    ['level=,', 'level'],
    ['level=loud', 'level'],
    ['level=info&level=info&level=info', 'level'],
    ['service=a&service=b', 'service'],
    ['service=123456789', 'service'],
  ] as const) {
    it(`refuses ${search}`, () => {
      const result = readParameters(search, schema)
      expect(result.ok ? '' : result.error.code).to.equal('invalid_parameter')
      expect(result.ok ? [] : result.error.errors?.map((error) => error.path.split('.')[0])).to.include(path)
    })
  }

  it('names the bounds of a number that is outside of them', () => {
    for (const search of ['limit=0', 'limit=201', 'limit=1.5', 'limit=twenty']) {
      const result = readParameters(search, schema)
      expect(result.ok ? '' : result.error.detail, search).to.equal('limit: not a whole number from 1 to 200')
    }
  })

  it('says what is wrong with a value, and what could stand there', () => {
    expect(refused('level=loud')[1]).to.equal('level: not one of info, error')
    expect(refused('level=info,loud')[1]).to.equal('level: not one of info, error')
    expect(refused('level=info&level=info&level=info')[1]).to.equal('level: more than 2 are given')
    expect(refused('level=,')[1]).to.equal('level: nothing is named')
    expect(refused('service=123456789')[1]).to.equal('service: longer than 8 characters')
  })

  it('takes a choice in any case', () => {
    expect(readParameters('level=INFO,Error', schema))
      .to.have.nested.property('value.level')
      .deep.equal(['info', 'error'])
    const one = readParameters(
      'order=DESC&service=DESC',
      z.object({ order: z.enum(['desc']).optional(), service: text(8) }),
    )
    expect(one).to.deep.equal({ ok: true, value: { order: 'desc', service: 'DESC' } })
  })

  it('fingerprints a query by what it asks, not by order, page or page size', () => {
    expect(queryFingerprint('a=1&b=2&cursor=x&limit=5&include=count')).to.equal(queryFingerprint('b=2&a=1'))
    expect(queryFingerprint('a=1&workspace=w&b=')).to.equal(queryFingerprint('a=1'))
    expect(queryFingerprint('a=1')).not.to.equal(queryFingerprint('a=2'))
  })
})
