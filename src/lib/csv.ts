/** What readers of a cell skip, or do not show, before its first character: blanks, quotes, zero-width and direction marks. */
const skipped = String.raw`\s"'\u00a0\u00ad\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff`
/** What begins a formula, in its full-width, small and mathematical forms too. */
const signs = String.raw`=+\-@|%\uff1d\uff0b\uff0d\uff20\ufe66\ufe62\ufe63\ufe6b\u2212\t\r`
/** A cell that a spreadsheet would take for a formula (OWASP CSV injection). */
const formula = new RegExp(`^[${skipped}]*[${signs}]`, 'u')
/** Also `-1.5e-7`, as very small and very large ones are written. */
const plainNumber = /^-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?$/

/** One cell: always quoted, quotes doubled, formulas defused with a leading apostrophe; numbers stay numbers. RFC 4180 §2. */
function cell(value: string): string {
  const safe = formula.test(value) && !plainNumber.test(value) ? `'${value}` : value
  return `"${safe.replaceAll('"', '""')}"`
}

/** One CSV record with its CRLF. */
export const csvRecord = (values: readonly string[]): string => `${values.map(cell).join(',')}\r\n`
