import { randomBytes } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import { expect } from 'chai'
import { decompress } from '#src/http/decompress.ts'

type Room = Readonly<{ bytes: number; bytesMax: number; room: number }>

/** Memory outside the heap that is taken meanwhile and left to the garbage collector, in bodies. Less when that happens to run. */
async function leftBy({ bytes, bytesMax, room }: Room): Promise<readonly [left: number, outcome: string | number]> {
  const packed = gzipSync(randomBytes(bytes / 2).toString('hex'), { level: 1 })
  let free = room
  const before = process.memoryUsage().arrayBuffers
  const unpacked = await decompress('gzip', packed, { bytesMax, ratioMax: 200 }, (taken) => (free -= taken) >= 0)
  const left = (process.memoryUsage().arrayBuffers - before) / bytes
  return [left, unpacked.ok ? unpacked.value.length : unpacked.error.code]
}

describe('the memory of what is decompressed', () => {
  it('is that of the body, and not also of the pieces that it came out in', async () => {
    const bytes = 4_000_000
    const [left, outcome] = await leftBy({ bytes, bytesMax: bytes, room: bytes })
    expect(outcome).to.equal(bytes)
    expect(left).to.be.below(1.5)
  })

  it('is free as soon as the body is refused', async () => {
    const bytes = 8_000_000
    for (const [bytesMax, room, code] of [
      [(bytes * 3) / 4, bytes, 'payload_too_large'],
      [bytes, (bytes * 3) / 4, 'overloaded'],
    ] as const) {
      const [left, outcome] = await leftBy({ bytes, bytesMax, room })
      expect(outcome).to.equal(code)
      expect(left, code).to.be.below(0.5)
    }
  })

  it('is not taken on the word of a body that says how large it will be', async () => {
    const packed = gzipSync('small')
    packed.writeUInt32LE(300_000_000, packed.length - 4)
    const before = process.memoryUsage().arrayBuffers
    const bounds = { bytesMax: 400_000_000, ratioMax: 200 }
    const unpacking = decompress('gzip', packed, bounds, () => true)
    expect(process.memoryUsage().arrayBuffers - before).to.be.below(10_000_000)
    expect(await unpacking).to.have.nested.property('error.code', 'invalid_body')
  })
})
