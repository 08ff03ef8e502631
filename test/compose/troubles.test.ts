import { expect } from 'chai'
import { beforeEach, describe, it } from 'mocha'
import { createTroubles, type Troubles } from '#src/compose/troubles.ts'

describe('what is told of troubles that are met again and again', () => {
  let now: number
  let told: string[]
  let troubles: Troubles
  beforeEach(() => {
    now = 0
    told = []
    troubles = createTroubles({ clock: () => now, tell: (line) => told.push(line) })
  })
  const hear = (line: string, afterMs = 4_000): void => {
    now += afterMs
    troubles.hear('logs', line)
    troubles.sweep()
  }

  it('is each of them once, whatever numbers are in it, and that it is over', () => {
    for (const count of [16, 32, 48, '39.1', '43']) hear(`write ${count} documents: blocked`)
    expect(told).to.deep.equal(['write 16 documents: blocked'])
    hear('is the server running?')
    hear('write 48 documents: blocked')
    expect(told).to.have.length(2)
    troubles.recovered('logs')
    troubles.sweep()
    expect(told, 'not yet').to.have.length(2)
    now += 11_000
    troubles.sweep()
    troubles.sweep()
    expect(told.slice(2)).to.deep.equal(['logs goes on'])
    hear('write 48 documents: blocked')
    expect(told).to.have.length(4)
  })

  it('is one that stays again after a while, but not that it is over', () => {
    for (let minute = 0; minute < 25; minute++) hear('blocked', 60_000)
    expect(told).to.deep.equal(['blocked', 'blocked', 'blocked'])
  })

  it('is nothing of what is no longer this process’s', () => {
    hear('blocked')
    troubles.hear('traces', 'blocked too')
    troubles.recovered('logs')
    troubles.recovered('traces')
    troubles.forget((subject) => subject === 'logs')
    now += 11_000
    troubles.sweep()
    expect(told).to.deep.equal(['blocked', 'blocked too', 'traces goes on'])
  })

  it('is not that one is over because nothing is heard of it: it may wait for something else that fails', () => {
    hear('blocked')
    now += 10_000_000
    troubles.sweep()
    expect(told).to.deep.equal(['blocked'])
    troubles.recovered('logs')
    hear('blocked')
    now += 100_000
    troubles.sweep()
    expect(told, 'it has failed since').to.deep.equal(['blocked', 'blocked'])
  })

  it('is that one which comes and goes is over only after a longer while than the first time', () => {
    for (let count = 0; count < 20; count++) {
      hear('blocked', 8_000)
      troubles.recovered('logs')
      now += 12_000
      troubles.sweep()
    }
    expect(told).to.deep.equal(['blocked', 'logs goes on', 'blocked'])
    now += 100_000
    troubles.sweep()
    expect(told.slice(3)).to.deep.equal(['logs goes on'])
  })

  it('is not that one is over of which another line is still heard', () => {
    hear('blocked')
    hear('full', 60_000)
    troubles.recovered('logs')
    now += 9_000
    troubles.sweep()
    hear('full', 51_000)
    expect(told).to.deep.equal(['blocked', 'full'])
    hear('blocked')
    expect(told.slice(2), 'not heard for a while').to.deep.equal(['blocked'])
  })
})
