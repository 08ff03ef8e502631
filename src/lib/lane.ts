/** Limits how much is under way at once, first come, first served. */
type Lane = Readonly<{
  /** Runs an action once there is room for it. One that needs more than the whole lane runs alone. */
  run<T>(room: number, action: () => Promise<T>): Promise<T>
  /** How many wait. */
  waiting(): number
}>

export function createLane(roomMax: number): Lane {
  const waiting: Readonly<{ room: number; enter: () => void }>[] = []
  let taken = 0
  const admit = (): void => {
    for (let next = waiting[0]; next !== undefined && taken + next.room <= roomMax; next = waiting[0]) {
      waiting.shift()
      taken += next.room
      next.enter()
    }
  }
  return {
    waiting: () => waiting.length,
    run: async (wanted, action) => {
      const room = Math.min(wanted, roomMax)
      await new Promise<void>((enter) => {
        waiting.push({ room, enter })
        admit()
      })
      try {
        return await action()
      } finally {
        taken -= room
        admit()
      }
    },
  }
}

/** Runs actions of the same name one after the other. */
export function createTurns() {
  const last = new Map<string, Promise<unknown>>()
  return {
    async run<T>(name: string, action: () => Promise<T>): Promise<T> {
      const turn = Promise.resolve(last.get(name)).then(action, action)
      last.set(name, turn)
      try {
        return await turn
      } finally {
        if (last.get(name) === turn) last.delete(name)
      }
    },
  }
}
