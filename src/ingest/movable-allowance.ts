import { TransientError } from '#src/lib/failure.ts'
import type { AllowanceGate, Grant, SpansAsked } from './allowance.ts'

/**
 * The allowance of one process while processes take over from each other: the gate behind it can be exchanged, and only when
 * nothing of this process is open at the old one, so that the next may begin with what the log holds and miss nothing.
 */
export type MovableAllowance = AllowanceGate &
  Readonly<{
    /** Goes on with this gate; what was asked meanwhile is asked there, in its order. */
    open(gate: AllowanceGate): void
    /** Goes on with the gate that it has. */
    resume(): void
    /**
     * Begins nothing more: who asks, waits. True when all that was granted has been settled, released or left in doubt; false
     * when it was opened or resumed before. A doubt is an end here: the append has failed, so the log says what became of it
     * to whoever reads it afterwards.
     */
    pause(): Promise<boolean>
    /** The gate is gone with its process: what was asked and not answered will be asked of the next one. Pauses. */
    lose(): void
  }>

type Asked = Readonly<{
  asked: SpansAsked
  resolve: (grant: Grant | 'pending') => void
  reject: (error: unknown) => void
}>
type Outcome = 'settle' | 'release' | 'doubt'

/** What this process has open at gates: reservations that it asked for, and that it was granted. */
function createOpenReservations(onChange: () => void) {
  const asking = new Set<Asked>()
  const held = new Map<string, Readonly<{ gate: AllowanceGate; reservation: string }>>()
  let grants = 0

  /** Under a name of our own: two gates may use the same. */
  const hold = (gate: AllowanceGate, { reservation, ...grant }: Grant): Grant => {
    if (reservation === '') return { ...grant, reservation }
    const name = (++grants).toString(36)
    held.set(name, { gate, reservation })
    return { ...grant, reservation: name }
  }
  return {
    isEmpty: () => asking.size === 0 && held.size === 0,
    ask: (gate: AllowanceGate, request: Asked): void => {
      asking.add(request)
      const answered = (settle: () => void): void => {
        // What was taken back is asked again elsewhere.
        if (!asking.delete(request)) return
        settle()
        onChange()
      }
      gate.reserve(request.asked).then(
        (grant) => answered(() => request.resolve(grant === 'pending' ? grant : hold(gate, grant))),
        (error: unknown) => answered(() => request.reject(error)),
      )
    },
    takeBack: (): readonly Asked[] => {
      const all = [...asking]
      asking.clear()
      return all
    },
    /** A gate that is not `current` any more needs no word: the next one counts what the log holds. */
    finish: async (outcome: Outcome, name: string, current: AllowanceGate | undefined): Promise<void> => {
      const open = held.get(name)
      if (open === undefined) return
      held.delete(name)
      const told = open.gate === current ? open.gate[outcome](open.reservation) : undefined
      onChange()
      await told
    },
  }
}

/** Starts paused, without a gate. More than `waitingMax` who wait: TransientError. */
export function createMovableAllowance({ waitingMax }: Readonly<{ waitingMax: number }>): MovableAllowance {
  let gate: AllowanceGate | undefined
  let isPaused = true
  let waiting: Asked[] = []
  let pausing: readonly ((isEmpty: boolean) => void)[] = []

  const tellPausing = (isEmpty: boolean): void => {
    const all = pausing
    pausing = []
    for (const tell of all) tell(isEmpty)
  }
  const checkEmpty = (): void => {
    if (isPaused && reservations.isEmpty()) tellPausing(true)
  }
  const reservations = createOpenReservations(checkEmpty)

  const resume = (): void => {
    if (gate === undefined) return
    isPaused = false
    tellPausing(false)
    const all = waiting
    waiting = []
    for (const request of all) reservations.ask(gate, request)
  }
  const wait = (request: Asked): void => {
    const hint = 'too many requests wait for another process to take over'
    if (waiting.length < waitingMax) waiting.push(request)
    else request.reject(new TransientError({ operation: 'reserve spans', subject: '', hint }))
  }

  return {
    reserve: (asked) =>
      new Promise((resolve, reject) => {
        const request = { asked, resolve, reject }
        if (isPaused || gate === undefined) wait(request)
        else reservations.ask(gate, request)
      }),
    settle: (reservation) => reservations.finish('settle', reservation, gate),
    release: (reservation) => reservations.finish('release', reservation, gate),
    doubt: (reservation) => reservations.finish('doubt', reservation, gate),
    open: (next) => {
      gate = next
      resume()
    },
    resume,
    pause: () => {
      isPaused = true
      const paused = new Promise<boolean>((resolve) => {
        pausing = [...pausing, resolve]
      })
      checkEmpty()
      return paused
    },
    lose: () => {
      gate = undefined
      isPaused = true
      waiting = [...reservations.takeBack(), ...waiting]
      checkEmpty()
    },
  }
}
