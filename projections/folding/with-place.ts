import { isOperatingFailure } from '#src/lib/failure.ts'

const program = new URL('../..', import.meta.url).href

/** The line of this program in which it was thrown, where the stack says it. */
function placeIn({ stack = '' }: Error): string {
  const line = stack.split('\n').find((one) => one.includes(program) && !one.includes('/node_modules/'))
  return /[^)]*/.exec(line?.split(program)[1] ?? '')?.[0] ?? ''
}

/** What nobody foresaw, with its place for those who are to mend it: of the failure that it is a cause of, only the message is told. */
export function withPlace(cause: unknown): unknown {
  if (isOperatingFailure(cause) || !(cause instanceof Error)) return cause
  const place = placeIn(cause)
  return new Error(`${cause.name}${place === '' ? '' : ` in ${place}`}: ${cause.message}`, { cause })
}
