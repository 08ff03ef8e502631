import { gzipSync, gunzipSync } from 'node:zlib'
import { expect } from 'chai'
import { freeBytes, joinBytes } from '#src/lib/free-bytes.ts'

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

describe('joinBytes', () => {
  it('frees each of what it joins, and reads slices of one buffer before it does', () => {
    const own = Array.from({ length: 3 }, (_, index) => new Uint8Array(bytes).fill(index))
    const shared = new Uint8Array(bytes).fill(7)
    const chunks = [...own, shared.subarray(0, bytes - 10), shared.subarray(bytes - 10)]
    const joined = joinBytes(chunks, 4 * bytes)
    expect(
      [0, 1, 2, 3].map((at) => joined.subarray(at * bytes, (at + 1) * bytes).every((byte, _, of) => byte === of[0])),
    ).to.deep.equal([true, true, true, true])
    expect([0, 1, 2, 3].map((at) => joined[at * bytes])).to.deep.equal([0, 1, 2, 7])
    expect(joined.length).to.equal(4 * bytes)
    expect(own.map(({ length }) => length)).to.deep.equal([0, 0, 0])
  })
})
