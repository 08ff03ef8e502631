import { expect } from 'chai'
import { documentsOf } from '../infra/manifest.ts'
import { figuresOf, untilIndexed } from '../support/client.ts'
import { rowsUnder } from '../support/page-rows.ts'
import { newDataFolder, removeFolder, startServer } from '../support/server.ts'

type Rule = Readonly<{ alert: string; expr: string; annotations: Readonly<{ summary: string; description: string }> }>

const namesIn = (text: string): readonly string[] => [...text.matchAll(/\bthroughline_\w+/g)].map(([name]) => name)

/** The figures of a server that has met nothing yet. */
async function figuresOfNew(): Promise<readonly string[]> {
  const dataFolder = await newDataFolder()
  const server = await startServer({ environment: { OPERATIONS_PORT: '0' }, dataFolder })
  try {
    // No index tells how far it is before there is one.
    await untilIndexed(server)
    const line = server.output.find((each) => each.startsWith('Health and metrics on ')) ?? ''
    return (await figuresOf(line.slice('Health and metrics on '.length))).split('\n')
  } finally {
    await server.stop()
    await removeFolder(dataFolder)
  }
}

describe('figures that are watched', () => {
  let figures: readonly string[] = []

  before(async () => {
    figures = await figuresOfNew()
  })

  it('are there before anything is wrong: Prometheus sees no growth in a series that begins with 1', () => {
    const ofRoute = (route: string) => `http_requests_total{method="POST",route="${route}",status="503"}`
    for (const name of [
      ...['/api/logs/v1/ingest', '/api/rum/v1/ingest', '/api/traces/v1/otlp'].map(ofRoute),
      'appends_failed_total',
      'index_samples_total{projection="logs",partition="0",outcome="different"}',
      'index_samples_total{partition="0",outcome="failed"}',
    ])
      expect(figures).to.include(`throughline_${name} 0`)
  })

  it('have an alert each in alerts.yaml, on series and labels that a server tells', () => {
    const [file] = documentsOf('alerts.yaml') as readonly Readonly<{
      groups: readonly Readonly<{ rules: readonly Rule[] }>[]
    }>[]
    const rules = file?.groups.flatMap((group) => group.rules) ?? []
    const ofRows = new Set(rowsUnder('infra/operating.md', 'Watch', /^Beside these:/m).map(([, name]) => name))
    expect(new Set(rules.map(({ expr }) => namesIn(expr)[0]))).to.deep.equal(ofRows)
    for (const { alert, expr, annotations } of rules) {
      const series = namesIn(expr).map((name) => figures.filter((line) => /^\w+/.exec(line)?.[0] === name))
      for (const told of series) expect(told, `${alert}: ${expr}`).to.not.deep.equal([])
      for (const [, label, is, value] of expr.matchAll(/(\w+)(!?=~?)"([^"]*)"/g)) {
        const values = series.flat().flatMap((line) => new RegExp(`[{,]${label}="([^"]*)"`).exec(line)?.slice(1) ?? [])
        const matches = values.filter((each) => new RegExp(`^(${value})$`).test(each))
        expect(matches, `${alert}: ${label}${is}"${value}"`).to.not.deep.equal([])
      }
      for (const [, label = ''] of Object.values(annotations)
        .join()
        .matchAll(/\$labels\.(\w+)/g))
        expect([
          'instance',
          ...series.flat().flatMap((line) => [...line.matchAll(/(\w+)="/g)].map(([, name]) => name)),
        ]).to.include(label)
    }
  })
})
