const surrogate = /[\ud800-\udfff]/

/** The order of code points (UTF-8), which differs from JavaScript's for surrogates. */
export function compareText(a: string, b: string): number {
  if (a === b) return 0
  if (surrogate.test(a) || surrogate.test(b)) return Buffer.compare(Buffer.from(a), Buffer.from(b))
  return a < b ? -1 : 1
}
