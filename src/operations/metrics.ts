import { inTime } from '#src/lib/in-time.ts'

/** Labels of one series, in the order in which they are shown. */
type Labels = Readonly<Record<string, string>>
export type Sample = Readonly<{ labels: Labels; value: number }>
/** Samples, or the one figure of a name that has no labels. */
type Figures = readonly Sample[] | number

/** Figures of one process, told in the text format of Prometheus 0.0.4. */
export type Metrics = Readonly<{
  /**
   * A figure that only grows; the returned function adds to it. Add 0 at the start if somebody watches for growth: Prometheus sees none in a series
   * that begins with 1.
   */
  counter(name: string, help: string): (labels: Labels, by?: number) => void
  /** How values spread over bounds (ascending); the returned function takes one value. */
  histogram(name: string, help: string, bounds: readonly number[]): (labels: Labels, value: number) => void
  /** Figures that are read when they are asked for. One that cannot be read is left out. */
  gauge(name: string, help: string, read: () => Figures | Promise<Figures>): void
  /** The same for a figure that only grows and is counted elsewhere. */
  total(name: string, help: string, read: () => number): void
  text(): Promise<string>
}>

/** A figure that an engine is asked for must not hide the others when the engine does not answer: scrapers wait some 10 s. */
const readTimeoutMsDefault = 2_000

export const metricsContentType = 'text/plain; version=0.0.4; charset=utf-8'

const escapeValue = (text: string): string =>
  text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')

function labelText(labels: Labels): string {
  const parts = Object.entries(labels).map(([name, value]) => `${name}="${escapeValue(value)}"`)
  return parts.length === 0 ? '' : `{${parts.join(',')}}`
}

const line = (name: string, labels: string, value: number): string => `${name}${labels} ${value}`

type Family = Readonly<{ name: string; help: string; type: string; lines: () => Promise<readonly string[]> }>

function createCounter(name: string) {
  const values = new Map<string, number>()
  return {
    add: (labels: Labels, by = 1): void => {
      const key = labelText(labels)
      values.set(key, (values.get(key) ?? 0) + by)
    },
    lines: async () => [...values].map(([labels, value]) => line(name, labels, value)),
  }
}

type Spread = { labels: Labels; counts: number[]; count: number; sum: number }

function createHistogram(name: string, bounds: readonly number[]) {
  const spreads = new Map<string, Spread>()
  const linesOf = ({ labels, counts, count, sum }: Spread): readonly string[] => [
    ...bounds.map((bound, index) =>
      line(`${name}_bucket`, labelText({ ...labels, le: String(bound) }), counts[index] ?? 0),
    ),
    line(`${name}_bucket`, labelText({ ...labels, le: '+Inf' }), count),
    line(`${name}_sum`, labelText(labels), sum),
    line(`${name}_count`, labelText(labels), count),
  ]
  return {
    take: (labels: Labels, value: number): void => {
      const key = labelText(labels)
      const spread = spreads.get(key) ?? { labels, counts: bounds.map(() => 0), count: 0, sum: 0 }
      spreads.set(key, spread)
      spread.count++
      spread.sum += value
      for (const [index, bound] of bounds.entries())
        if (value <= bound) spread.counts[index] = (spread.counts[index] ?? 0) + 1
    },
    lines: async () => [...spreads.values()].flatMap(linesOf),
  }
}

export function createMetrics(readTimeoutMs = readTimeoutMsDefault): Metrics {
  const families: Family[] = []
  const addRead = (name: string, help: string, type: string, read: () => Figures | Promise<Figures>): void => {
    const lines = async () => {
      const figures = await read()
      if (typeof figures === 'number') return [line(name, '', figures)]
      return figures.map(({ labels, value }) => line(name, labelText(labels), value))
    }
    families.push({ name, help, type, lines })
  }
  const show = async ({ name, help, type, lines }: Family): Promise<string> => {
    const shown = await inTime(lines(), readTimeoutMs)
    if (shown === undefined) return `# ${name} could not be read\n`
    return [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`, ...shown, ''].join('\n')
  }
  return {
    counter: (name, help) => {
      const { add, lines } = createCounter(name)
      families.push({ name, help, type: 'counter', lines })
      return add
    },
    histogram: (name, help, bounds) => {
      const { take, lines } = createHistogram(name, bounds)
      families.push({ name, help, type: 'histogram', lines })
      return take
    },
    gauge: (name, help, read) => addRead(name, help, 'gauge', read),
    total: (name, help, read) => addRead(name, help, 'counter', read),
    text: async () => (await Promise.all(families.map(show))).join(''),
  }
}
