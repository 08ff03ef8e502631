/** A cell that a spreadsheet would take for a formula, behind blanks, quotes and full-width forms too (OWASP CSV injection). */
const formula = /^[\s"'\u00a0\ufeff]*[=+\-@|%\uff1d\uff0b\uff0d\uff20\t\r]/u
const plainNumber = /^-?\d+(?:\.\d+)?$/

/** One cell: always quoted, quotes doubled, formulas defused with a leading apostrophe; numbers stay numbers. RFC 4180 §2. */
function cell(value: string): string {
  const safe = formula.test(value) && !plainNumber.test(value) ? `'${value}` : value
  return `"${safe.replaceAll('"', '""')}"`
}

/** One CSV record with its CRLF. */
export const csvRecord = (values: readonly string[]): string => `${values.map(cell).join(',')}\r\n`
