/** An arrow between two boxes, by their keys. */
export type Arrow = Readonly<{ from: string; to: string }>

/** A place in a drawing: columns from the left, rows from the top. A row may be a half if its column has fewer boxes than others. */
export type Place = Readonly<{ column: number; row: number }>

export type Layout<Drawn extends Arrow> = Readonly<{
  places: ReadonlyMap<string, Place>
  /** Each arrow with the places that it passes, including its ends. One that `leadsBack` closes a cycle, and has only its ends. */
  ways: readonly Readonly<{ arrow: Drawn; through: readonly Place[]; leadsBack: boolean }>[]
  columns: number
  rows: number
}>

/**
 * The boxes in topological order, without the arrows in `back`, which close cycles. Which arrows those are follows from the order of keys, beginning
 * with boxes that no arrow leads to.
 */
function withoutCircles<Drawn extends Arrow>(keys: readonly string[], arrows: readonly Drawn[]) {
  const out = new Map(keys.map((key) => [key, arrows.filter(({ from }) => from === key)]))
  const led = new Set(arrows.map(({ to }) => to))
  const back = new Set<Drawn>()
  const ended: string[] = []
  const open = new Set<string>()
  function visit(key: string): void {
    open.add(key)
    for (const arrow of out.get(key) ?? []) {
      if (ended.includes(arrow.to)) continue
      if (open.has(arrow.to)) back.add(arrow)
      else visit(arrow.to)
    }
    open.delete(key)
    ended.push(key)
  }
  for (const key of [...keys.filter((each) => !led.has(each)), ...keys]) if (!ended.includes(key)) visit(key)
  return { order: ended.reverse(), back }
}

/** The column of each box: to the right of all boxes that lead to it. */
function columnsOf(order: readonly string[], onward: readonly Arrow[]): ReadonlyMap<string, number> {
  const columns = new Map(order.map((key) => [key, 0]))
  for (const key of order) {
    const next = (columns.get(key) ?? 0) + 1
    for (const { to } of onward.filter(({ from }) => from === key))
      columns.set(to, Math.max(columns.get(to) ?? 0, next))
  }
  return columns
}

/** An item of a column: a box, or a place where an arrow to a later column passes. `before` and `after` are the connected items of other columns. */
type Item = { column: number; row: number; before: Item[]; after: Item[] }

const mean = (items: readonly Item[], otherwise: number): number =>
  items.length === 0 ? otherwise : items.reduce((sum, { row }) => sum + row, 0) / items.length

/** Orders each column by the items that it is connected with: from the left, from the right, and from the left again. Centres it in the height. */
function arrange(items: readonly Item[], columns: number): number {
  const all = Array.from({ length: columns }, (_, column) => items.filter((item) => item.column === column))
  const rows = Math.max(0, ...all.map(({ length }) => length))
  const settle = (column: readonly Item[], joined: (item: Item) => readonly Item[]): void => {
    const sorted = column.map((item) => [item, mean(joined(item), item.row)] as const).toSorted(([, a], [, b]) => a - b)
    for (const [at, [item]] of sorted.entries()) item.row = at + (rows - column.length) / 2
  }
  for (const column of all) settle(column, () => [])
  for (const column of all) settle(column, ({ before }) => before)
  for (const column of [...all].reverse()) settle(column, ({ after }) => after)
  for (const column of all) settle(column, ({ before }) => before)
  return rows
}

function layOutJoined<Drawn extends Arrow>(keys: readonly string[], arrows: readonly Drawn[]): Layout<Drawn> {
  const { order, back } = withoutCircles(keys, arrows)
  const columnOf = columnsOf(
    order,
    arrows.filter((arrow) => !back.has(arrow)),
  )
  const items: Item[] = []
  const put = (column: number): Item => {
    const item = { column, row: items.length, before: [], after: [] }
    items.push(item)
    return item
  }
  const boxes = new Map(keys.map((key) => [key, put(columnOf.get(key) ?? 0)]))
  const ways = arrows.flatMap((arrow) => {
    const [from, to] = [boxes.get(arrow.from), boxes.get(arrow.to)]
    if (from === undefined || to === undefined) return []
    if (back.has(arrow)) return [{ arrow, through: [from, to], leadsBack: true }]
    const passed = Array.from({ length: to.column - from.column - 1 }, (_, at) => put(from.column + 1 + at))
    const through = [from, ...passed, to]
    for (const [at, item] of through.slice(1).entries()) {
      item.before.push(through[at] ?? from)
      through[at]?.after.push(item)
    }
    return [{ arrow, through, leadsBack: false }]
  })
  const columns = Math.max(0, ...items.map(({ column }) => column + 1))
  return { places: boxes, ways, columns, rows: arrange(items, columns) }
}

/** The least number of unconnected boxes per row; they are placed below the others. */
const besideMin = 4

/** Places boxes in columns so that arrows lead from left to right. The result is the same for the same boxes and arrows in the same order. */
export function layOut<Drawn extends Arrow>(keys: readonly string[], arrows: readonly Drawn[]): Layout<Drawn> {
  const joined = new Set(arrows.flatMap(({ from, to }) => [from, to]))
  const [within, alone] = [keys.filter((key) => joined.has(key)), keys.filter((key) => !joined.has(key))]
  const { places, ways, columns, rows } = layOutJoined(within, arrows)
  const beside = Math.max(columns, Math.min(besideMin, alone.length))
  const others = alone.map((key, at) => {
    return [key, { column: at % beside, row: rows + Math.floor(at / beside) }] as const
  })
  return {
    places: new Map([...places, ...others]),
    ways,
    columns: beside,
    rows: rows + Math.ceil(alone.length / Math.max(beside, 1)),
  }
}
