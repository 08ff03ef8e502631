import { shownSafely } from '#src/lib/shown-safely.ts'

/** Why a verb did nothing, as a program reads it; `code` is `usage`, `failed` or that of a refusal. */
type Complaint = Readonly<{ code: string; detail: string }>

/** Whether the answer is to be JSON. Also works if the words around `--json` cannot be read, or name no verb. */
export function asksForJson(argv: readonly string[]): boolean {
  const end = argv.indexOf('--')
  return argv.slice(0, end < 0 ? argv.length : end).includes('--json')
}

/** What goes to stderr: one line of JSON, or for people. */
export const complain = (complaint: Complaint, asJson: boolean): string =>
  shownSafely(`${asJson ? JSON.stringify({ error: complaint }) : `throughline: ${complaint.detail}`}\n`)
