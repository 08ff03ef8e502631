/** A function of an object, computed once for each of them. */
export function memoize<Of extends object, Value>(compute: (of: Of) => Value): (of: Of) => Value {
  const known = new WeakMap<Of, Value>()
  return (of) => {
    const found = known.get(of)
    if (found !== undefined) return found
    const value = compute(of)
    known.set(of, value)
    return value
  }
}
