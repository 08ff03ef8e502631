import type { RefusalReason, RefusedSpan } from '#src/events/telemetry.ts'
import type { SpanScan } from '#src/wire/otlp/span-scan.ts'

type CutSpans = Readonly<{ keep: (index: number) => boolean; refused: readonly RefusedSpan[] }>

/** Takes spans in request order up to what was granted; every other one is refused, with its reason. */
export function cutSpans(
  scan: SpanScan,
  granted: number,
  reason: Exclude<RefusalReason, 'rejected_invalid'> = 'rejected_allowance',
): CutSpans {
  const kept = new Uint8Array(scan.spans)
  const refused: RefusedSpan[] = []
  let taken = 0
  for (let index = 0; index < scan.spans; index++) {
    const isValid = scan.valid(index)
    if (isValid && taken < granted) {
      kept[index] = 1
      taken++
    } else refused.push({ ...scan.identify(index), reason: isValid ? reason : 'rejected_invalid' })
  }
  return { keep: (index) => kept[index] === 1, refused }
}
