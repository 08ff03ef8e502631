import { expect } from 'chai'
import { createJsonReader, eachItem, eachMember, jsonDepthFollowedMax, skipSpace, textOf } from '#src/lib/json-bytes.ts'
import { createChance } from '#test/wire/logs/chance.ts'

/** True when the reader finds exactly one value. */
function reads(bytes: Uint8Array): boolean {
  const end = createJsonReader(bytes).value(skipSpace(bytes, 0))
  return end >= 0 && skipSpace(bytes, end) === bytes.length
}

function parses(bytes: Buffer): boolean {
  try {
    JSON.parse(bytes.toString('utf8'))
    return true
  } catch {
    return false
  }
}

describe('JSON as bytes', () => {
  it('takes what JSON.parse takes, and nothing else', () => {
    const good = [
      '{}',
      '[]',
      '0',
      '-0.5e+10',
      '1E5',
      '"\\u00e9\\n\\\\"',
      ' [ 1 , {"a":[null,true,false]} ]\r\n',
      '"\u00e9"',
    ]
    const bad = [
      '', '{', '[', '{]', '[1,]', '{"a":1,}', '{,}', '[,1]', '{"a"}', '{a:1}', "{'a':1}", '01', '1.', '.5', '+1', '1e', '--1',
      '"\t"', '"\\x"', '"\\u12g4"', '"', '"\\', 'tru', 'nulll', 'NaN', '[1 2]', '{"a":1 "b":2}', '1 2', '\u00a01',
    ] // prettier-ignore
    for (const text of good) expect(reads(Buffer.from(text)), text).to.equal(true)
    for (const text of bad) expect(reads(Buffer.from(text)), JSON.stringify(text)).to.equal(false)
  })

  it('agrees with JSON.parse on mutated text', () => {
    const chance = createChance(7)
    const seeds = [
      '{"a":1,"b":[true,false,null,{"c":"x\\u00e9\\n"}],"d":-1.5e+10}',
      '[[],{}]',
      '[1,"2",{"x":"\u00e9"}]',
    ]
    const alphabet = Buffer.from('{}[]",:0123456789.eE+-truefalsn\\u \n\t\x00\u00ff')
    let good = 0
    for (let round = 0; round < 20_000; round++) {
      const text = chance.mutate(Buffer.from(chance.pick(seeds)), alphabet, 2)
      const expected = parses(text)
      if (expected) good++
      expect(reads(text), text.toString('latin1')).to.equal(expected)
    }
    expect(good).to.be.greaterThan(1_000)
  })

  it('says where text stops being JSON', () => {
    expect(createJsonReader(Buffer.from('{"a":tru}')).value(0)).to.equal(~8)
    expect(createJsonReader(Buffer.from('[1,2')).value(0)).to.equal(~4)
  })

  it('tells depth and number of values', () => {
    const reader = createJsonReader(Buffer.from('{"a":[1,{"b":[]}],"c":2}'))
    expect(reader.value(0)).to.equal(24)
    expect(reader.depth()).to.equal(4)
    expect(reader.values()).to.equal(6)
  })

  it('bounds nesting and the length of numbers', () => {
    const nested = (depth: number): Buffer => Buffer.from('['.repeat(depth) + ']'.repeat(depth))
    expect(reads(nested(jsonDepthFollowedMax))).to.equal(true)
    expect(reads(nested(jsonDepthFollowedMax + 1))).to.equal(false)
    expect(reads(nested(1_000_000))).to.equal(false)
    expect(reads(Buffer.from('1'.repeat(1_000)))).to.equal(true)
    expect(reads(Buffer.from('1'.repeat(1_001)))).to.equal(false)
  })

  it('walks items and members, with escaped keys and repeated ones', () => {
    const items: string[] = []
    const list = Buffer.from(' [ {"a":1} , "x",[] ] ')
    expect(eachItem(list, createJsonReader(list), 1, (start, end) => items.push(textOf(list, start, end)))).to.equal(21)
    expect(items).to.deep.equal(['{"a":1}', '"x"', '[]'])
    const members: string[] = []
    const object = Buffer.from('{"a":1,"\\u0062":{"c":2},"a":"x"}')
    eachMember(object, createJsonReader(object), 0, (key, { start, end }) =>
      members.push(`${key()} ${textOf(object, start, end)}`),
    )
    expect(members).to.deep.equal(['a 1', 'b {"c":2}', 'a "x"'])
    for (const text of ['[1 2]', '[1,', '[', '[1,]']) {
      const broken = Buffer.from(text)
      expect(
        eachItem(broken, createJsonReader(broken), 0, () => undefined),
        text,
      ).to.be.lessThan(0)
    }
    for (const text of ['{"a" 1}', '{"a":1', '{', '{"a":1,}', '{1:1}']) {
      const broken = Buffer.from(text)
      expect(
        eachMember(broken, createJsonReader(broken), 0, () => undefined),
        text,
      ).to.be.lessThan(0)
    }
  })
})
