/** Runs actions of one key one after the other, also after one has failed; actions of different keys run at the same time. */
export function createKeyedMutex() {
  const last = new Map<string, Promise<unknown>>()
  return {
    async run<T>(key: string, action: () => Promise<T>): Promise<T> {
      const turn = Promise.resolve(last.get(key)).then(action, action)
      last.set(key, turn)
      try {
        return await turn
      } finally {
        if (last.get(key) === turn) last.delete(key)
      }
    },
  }
}
