/** What a figure stands beside: the least that could be done, or what another program needs, measured in the same run. */
export type Floor = Readonly<{ name: string; value: number }>
export type Row = Readonly<{
  figure: string
  unit: string
  measured: number
  /** What was agreed on; nothing fails when it is not met. */
  target?: Readonly<{ bound: 'at most' | 'at least'; value: number }>
  floors?: readonly Floor[]
}>
export type Section = Readonly<{
  title: string
  rows: readonly Row[]
  /** What its floors are called when they are none. */
  beside?: string
  /** What one must know to compare, a line each. */
  notes?: readonly string[]
}>

export const atMost = (value: number) => ({ target: { bound: 'at most', value } }) as const
export const atLeast = (value: number) => ({ target: { bound: 'at least', value } }) as const

/** The value at or below which a part of sorted values lies. */
export function percentile(sorted: Float64Array, part: number): number {
  return sorted[Math.min(sorted.length - 1, Math.ceil(sorted.length * part) - 1)] ?? Number.NaN
}

function isMet({ measured, target }: Row): boolean | undefined {
  if (target === undefined) return undefined
  return target.bound === 'at most' ? measured <= target.value : measured >= target.value
}

const ratioOf = (measured: number, floor: number): number | null => (floor === 0 ? null : measured / floor)

/** Enough digits to compare, no more. */
function digits(value: number): string {
  if (!Number.isFinite(value)) return '-'
  if (Math.abs(value) >= 1_000) return Math.round(value).toLocaleString('en-US')
  return value.toPrecision(3).replace(/^(-?\d+)\.?0*$/, '$1')
}

function linesOf(row: Row): readonly (readonly string[])[] {
  const { figure, unit, measured, target, floors = [] } = row
  const met = isMet(row)
  const wanted = target === undefined ? '' : `${target.bound} ${digits(target.value)}${met === true ? '' : ' MISSED'}`
  const [first, ...others] = floors.map(({ name, value }) => {
    const ratio = ratioOf(measured, value)
    return [`${digits(value)}  ${name}`, ratio === null ? '' : `${digits(ratio)} x`]
  })
  return [
    [figure, `${digits(measured)} ${unit}`, wanted, ...(first ?? ['', ''])],
    ...others.map((floor) => ['', '', '', ...floor]),
  ]
}

/** A table for people. */
export function formatTable(sections: readonly Section[]): string {
  const blocks = sections.map(({ title, rows, beside = 'floor', notes = [] }) => {
    const header = ['figure', 'measured', 'target', beside, 'ratio']
    return { title, lines: [header, ...rows.flatMap(linesOf)], notes }
  })
  const all = blocks.flatMap(({ lines }) => lines)
  const columns = [...(all[0] ?? []).keys()]
  const widths = columns.map((column) => Math.max(...all.map((line) => (line[column] ?? '').length)))
  const format = (line: readonly string[]): string =>
    line
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd()
  const text = blocks.map(({ title, lines, notes }) => [title, ...lines.map(format), ...notes].join('\n'))
  return text.join('\n\n')
}

/** The same for programs. */
export function formatJson(head: Readonly<Record<string, unknown>>, sections: readonly Section[]): string {
  const figures = sections.flatMap(({ title, rows }) =>
    rows.map((row) => ({
      section: title,
      ...row,
      ...(row.target === undefined ? {} : { met: isMet(row) }),
      floors: (row.floors ?? []).map((floor) => ({ ...floor, ratio: ratioOf(row.measured, floor.value) })),
    })),
  )
  const notes = sections.flatMap(({ notes = [] }) => notes)
  return JSON.stringify({ ...head, figures, ...(notes.length === 0 ? {} : { notes }) })
}
