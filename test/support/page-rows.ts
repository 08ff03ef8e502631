import { readFileSync } from 'node:fs'

/** The rows of the table under a heading of a page, cell by cell; `end`: what stands behind it, if not the next heading. */
export function rowsUnder(page: string, heading: string, end = /^## /m): readonly (readonly string[])[] {
  const [, section = ''] = readFileSync(page, 'utf8').split(new RegExp(`^## ${heading}$`, 'm'))
  const [table = ''] = section.split(end)
  return [...table.matchAll(/^\| `.*$/gm)].map(([row]) => row.split('|').map((cell) => cell.replaceAll('`', '').trim()))
}
