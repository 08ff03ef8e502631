import { stringifyJson } from './json.ts'

/** How long (ms) one task may keep all others waiting. */
const turnMs = 5

const waiting: (() => void)[] = []

function goOn(): void {
  waiting.shift()?.()
  if (waiting.length > 0) setImmediate(goOn)
}

/** Resolves in a later turn of the event loop, in which no other such task resumes: together they would block like one long task. */
const nextTurn = (): Promise<void> =>
  new Promise((resolve) => {
    if (waiting.push(resolve) === 1) setImmediate(goOn)
  })

/** Resolves at once while the task has worked for less than its turn, otherwise when all others have had theirs. */
function createTurns(): () => Promise<void> {
  let since = performance.now()
  return async () => {
    if (performance.now() - since < turnMs) return
    await nextTurn()
    since = performance.now()
  }
}

/** Like `map`, for items that may each be large: other tasks get their turn between them. */
export async function mapInTurns<Item, Made>(
  items: readonly Item[],
  make: (item: Item) => Made,
): Promise<readonly Made[]> {
  const turn = createTurns()
  const made: Made[] = []
  for (const item of items) {
    await turn()
    made.push(make(item))
  }
  return made
}

/** How many characters are encoded at once. */
const pieceCharacters = 64 * 1024

/** Objects down to this depth are written member by member, their lists item by item. */
const depthMax = 3

/** The JSON text of a value in parts, none larger than one item. */
function* partsOf(value: unknown, depth: number): Generator<string> {
  if (depth === 0 || typeof value !== 'object' || value === null) {
    yield stringifyJson(value)
    return
  }
  const isList = Array.isArray(value)
  const entries = isList ? value.map((item: unknown) => ['', item ?? null] as const) : Object.entries(value)
  let before = isList ? '[' : '{'
  for (const [name, item] of entries) {
    if (item === undefined) continue
    yield isList ? before : `${before}${JSON.stringify(name)}:`
    yield* partsOf(item, isList ? 0 : depth - 1)
    before = ','
  }
  yield `${before === ',' ? '' : before}${isList ? ']' : '}'}`
}

/** The bytes of `stringifyJson` for a value that may be megabytes: other tasks get their turn between the items of its lists. */
export async function jsonInTurns(value: object): Promise<Buffer> {
  const turn = createTurns()
  const pieces: Buffer[] = []
  let text = ''
  for (const part of partsOf(value, depthMax)) {
    text += part
    if (text.length < pieceCharacters) continue
    pieces.push(Buffer.from(text))
    text = ''
    await turn()
  }
  pieces.push(Buffer.from(text))
  return Buffer.concat(pieces)
}
