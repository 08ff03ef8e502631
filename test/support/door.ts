/** A door that calls wait at; each that arrives is heard of. */
export function createDoor() {
  let waiting: (() => void)[] = []
  let heard = (): void => {}
  return {
    wait: () =>
      new Promise<void>((resolve) => {
        waiting.push(resolve)
        heard()
      }),
    async arrived(count: number): Promise<void> {
      while (waiting.length < count) await new Promise<void>((resolve) => (heard = resolve))
    },
    open(): void {
      for (const go of waiting) go()
      waiting = []
    },
  }
}
