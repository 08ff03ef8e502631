/** Writes protobuf messages into one growing buffer: a million spans are made in seconds. Source: protobuf encoding. */
export type ProtobufWriter = Readonly<{
  varint(field: number, value: number): void
  fixed32(field: number, value: number): void
  fixed64(field: number, value: bigint): void
  double(field: number, value: number): void
  bytes(field: number, bytes: Uint8Array): void
  text(field: number, text: string): void
  /** A nested message of what `write` writes. */
  message(field: number, write: () => void): void
  /** What was written since the last call. */
  take(): Buffer
}>

const [wireVarint, wireFixed64, wireBytes, wireFixed32] = [0, 1, 2, 5]
const varintBytesMax = 10

export function createProtobufWriter(): ProtobufWriter {
  let buffer = Buffer.allocUnsafe(64 * 1024)
  let at = 0

  function reserve(bytes: number): void {
    if (at + bytes <= buffer.length) return
    const larger = Buffer.allocUnsafe(Math.max(buffer.length * 2, at + bytes))
    buffer.copy(larger, 0, 0, at)
    buffer = larger
  }

  function writeVarint(value: number): void {
    let rest = value
    while (rest > 0x7f) {
      buffer[at++] = (rest % 0x80) | 0x80
      rest = Math.floor(rest / 0x80)
    }
    buffer[at++] = rest
  }

  function tag(field: number, wire: number, bytes: number): void {
    reserve(bytes + 2 * varintBytesMax)
    writeVarint(field * 8 + wire)
  }

  /** Puts the length before what was written from `start` on, where one byte was left for it. */
  function close(start: number): void {
    const length = at - start
    let more = 0
    for (let rest = length; rest > 0x7f; rest = Math.floor(rest / 0x80)) more++
    if (more > 0) {
      reserve(more)
      buffer.copyWithin(start + more, start, at)
    }
    at = start - 1
    writeVarint(length)
    at += length
  }

  return {
    varint(field, value) {
      tag(field, wireVarint, 0)
      writeVarint(value)
    },
    fixed32(field, value) {
      tag(field, wireFixed32, 4)
      at = buffer.writeUInt32LE(value, at)
    },
    fixed64(field, value) {
      tag(field, wireFixed64, 8)
      at = buffer.writeBigUInt64LE(value, at)
    },
    double(field, value) {
      tag(field, wireFixed64, 8)
      at = buffer.writeDoubleLE(value, at)
    },
    bytes(field, bytes) {
      tag(field, wireBytes, bytes.length)
      writeVarint(bytes.length)
      buffer.set(bytes, at)
      at += bytes.length
    },
    text(field, text) {
      tag(field, wireBytes, text.length * 3)
      const start = ++at
      at += buffer.write(text, at)
      close(start)
    },
    message(field, write) {
      tag(field, wireBytes, 0)
      const start = ++at
      write()
      close(start)
    },
    take() {
      const taken = Buffer.from(buffer.subarray(0, at))
      at = 0
      return taken
    },
  }
}
