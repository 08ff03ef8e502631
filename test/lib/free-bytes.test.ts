import { gzipSync, gunzipSync } from 'node:zlib'
import { expect } from 'chai'
import { freeBytes } from '#src/lib/free-bytes.ts'

const bytes = 100_000

describe('freeBytes', () => {
  it('takes the memory of bytes that have it to themselves', () => {
    for (const own of [
      new Uint8Array(bytes),
      Buffer.alloc(bytes),
      gunzipSync(gzipSync(Buffer.alloc(bytes)), { chunkSize: bytes + 64 }),
    ]) {
      freeBytes(own)
      expect([own.length, own.buffer.byteLength]).to.deep.equal([0, 0])
      freeBytes(own)
    }
  })

  it('leaves memory alone that others may use', () => {
    const whole = new Uint8Array(bytes).fill(7)
    for (const shared of [
      whole.subarray(1),
      whole.subarray(0, bytes / 2),
      new Uint8Array(new SharedArrayBuffer(bytes)),
    ]) {
      freeBytes(shared)
      expect(shared.length).to.be.above(0)
    }
    expect(whole.every((byte) => byte === 7)).to.equal(true)
    for (let size = 1; size < Buffer.poolSize / 2; size += 97) {
      const pooled = Buffer.from('x'.repeat(size))
      freeBytes(pooled)
      expect(pooled.length).to.equal(size)
    }
  })
})
