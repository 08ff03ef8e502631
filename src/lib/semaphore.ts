/** Limits how much is under way at once, first come, first served. */
export type Semaphore = Readonly<{
  /** Runs an action once there is room for it. One that needs more than there is runs alone. */
  run<T>(room: number, action: () => Promise<T>): Promise<T>
  /** How many wait. */
  waiting(): number
}>

export function createSemaphore(roomMax: number): Semaphore {
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
