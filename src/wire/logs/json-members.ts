import { createJsonReader, eachMember, skipSpace, type JsonRange } from '#src/lib/json-bytes.ts'
import { createMembers, type Member } from './wrapper.ts'

const quote = 0x22
const openBracket = 0x5b
const closeBracket = 0x5d
const openBrace = 0x7b
const letterN = 0x6e

function isEmpty(body: Uint8Array, { start, end }: JsonRange): boolean {
  const first = body[start]
  if (first === openBracket) return body[skipSpace(body, start + 1)] === closeBracket
  return first === letterN || (first === quote && end === start + 2)
}

/**
 * The members of the object at `start` whose names are wanted. Without `isWanted`: those of a wrapper, or none if a member shows that the object is
 * no wrapper.
 */
function read(body: Uint8Array, start: number, isWanted?: (name: string) => boolean): readonly Member[] {
  const members = createMembers()
  const reader = createJsonReader(body)
  let before = 0
  let goesOn = true
  eachMember(body, reader, start, (key, value, keyStart) => {
    const values = reader.values() - before
    before += values
    if (!goesOn) return
    const name = key()
    if (isWanted === undefined) goesOn = members.mayWrap(name)
    else if (!isWanted(name)) return
    const isList = body[value.start] === openBracket
    const whole = { start: keyStart, end: value.end }
    members.add({ name, whole, value, isList, isEmpty: isEmpty(body, value), depth: reader.depth(), values })
  })
  return members.all()
}

/** The members of a record with some names. Not all members: a record may have as many as a request may have values. */
export const membersOf = (
  body: Uint8Array,
  record: JsonRange,
  isWanted: (name: string) => boolean,
): readonly Member[] => read(body, record.start, isWanted)

/** The members of a value that may be a wrapper; none if it is a record, or not an object. */
export function membersOfWrapper(body: Uint8Array, value: JsonRange): readonly Member[] {
  if (body[value.start] !== openBrace) return []
  // Skips the scan for objects without any list, which most are.
  const bracket = body.indexOf(openBracket, value.start)
  return bracket === -1 || bracket > value.end ? [] : read(body, value.start)
}
