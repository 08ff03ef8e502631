import { expect } from 'chai'
import { figuresOf } from '../support/client.ts'
import { newDataFolder, removeFolder, startServer } from '../support/server.ts'

describe('figures that are watched for growth', () => {
  it('are there before anything is wrong: Prometheus sees no growth in a series that begins with 1', async () => {
    const dataFolder = await newDataFolder()
    const server = await startServer({ environment: { OPERATIONS_PORT: '0' }, dataFolder })
    try {
      const line = server.output.find((each) => each.startsWith('Health and metrics on ')) ?? ''
      const figures = (await figuresOf(line.slice('Health and metrics on '.length))).split('\n')
      const ofRoute = (route: string) => `http_requests_total{method="POST",route="${route}",status="503"}`
      for (const name of [
        ...['/api/logs/v1/ingest', '/api/rum/v1/ingest', '/api/traces/v1/otlp'].map(ofRoute),
        'appends_failed_total',
        'index_samples_total{projection="logs",partition="0",outcome="different"}',
        'index_samples_total{partition="0",outcome="failed"}',
      ])
        expect(figures).to.include(`throughline_${name} 0`)
    } finally {
      await server.stop()
      await removeFolder(dataFolder)
    }
  })
})
