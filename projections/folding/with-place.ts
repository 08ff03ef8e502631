import { isOperatingFailure } from '#src/lib/failure.ts'

const program = new URL('../..', import.meta.url).href

/** The file and line of this program where an error was thrown; '' if its stack does not say. */
function placeIn({ stack = '' }: Error): string {
  const line = stack.split('\n').find((one) => one.includes(program) && !one.includes('/node_modules/'))
  return /[^)]*/.exec(line?.split(program)[1] ?? '')?.[0] ?? ''
}

/** An unforeseen error with its place in the message, since of a cause only the message is reported. Our own failures stay as they are. */
export function withPlace(cause: unknown): unknown {
  if (isOperatingFailure(cause) || !(cause instanceof Error)) return cause
  const place = placeIn(cause)
  return new Error(`${cause.name}${place === '' ? '' : ` in ${place}`}: ${cause.message}`, { cause })
}
