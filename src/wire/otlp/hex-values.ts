/** A hexadecimal digit's value by its byte, 255 for anything else. */
export const hexValues: Readonly<Uint8Array> = Uint8Array.from({ length: 256 }, (_none, byte) => {
  const value = Number.parseInt(String.fromCharCode(byte), 16)
  return Number.isNaN(value) ? 255 : value
})
