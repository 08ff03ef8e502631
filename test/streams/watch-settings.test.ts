import { expect } from 'chai'
import { configOf } from '#streams/jetstream/stream-config.ts'
import { logName } from '#streams/jetstream/subjects.ts'
import { watchSettings } from '#streams/jetstream/watch-settings.ts'

describe('the settings of a JetStream log that is open', () => {
  it('are not told of again as they were when it was opened, but once they are set right', () => {
    const log = logName('0', 'shop')
    const right = configOf(log, { epoch: 'e', partitions: 1, replicas: 1, bytesMax: 1_000 })
    const wrong = { ...right, max_age: 1_000 }
    const told: string[] = []
    const see = watchSettings(log, wrong, (line) => void told.push(line))
    see(wrong)
    expect(told).to.deep.equal([])
    see(right)
    see(right)
    expect(told).to.deep.equal(['stream shop-TELEMETRY_0 was changed: it is as it should be'])
  })
})
