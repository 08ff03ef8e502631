/** How many turns all others had while the task was at work. */
export async function turnsOf(task: () => Promise<unknown>): Promise<number> {
  let turns = 0
  let isOver = false
  const turn = (): void => {
    turns++
    if (!isOver) setImmediate(turn)
  }
  setImmediate(turn)
  await task()
  isOver = true
  return turns
}
