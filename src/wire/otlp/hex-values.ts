/** Values of hexadecimal digits by byte; 255 for any other byte. */
export const hexValues: Readonly<Uint8Array> = Uint8Array.from({ length: 256 }, (_none, byte) => {
  const value = Number.parseInt(String.fromCharCode(byte), 16)
  return Number.isNaN(value) ? 255 : value
})
