/** How much may be under way at once, per name: `enter` gives a way out, or undefined when it is full. */
export type Gate = Readonly<{ enter(name: string): (() => void) | undefined }>

export function createGate(max: number): Gate {
  const inside = new Map<string, number>()
  return {
    enter: (name) => {
      const count = inside.get(name) ?? 0
      if (count >= max) return undefined
      inside.set(name, count + 1)
      let left = false
      return () => {
        if (left) return
        left = true
        const now = (inside.get(name) ?? 1) - 1
        if (now === 0) inside.delete(name)
        else inside.set(name, now)
      }
    },
  }
}
