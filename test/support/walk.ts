import { expect } from 'chai'
import type { JsonObject } from '#src/lib/json.ts'
import { answerOf, listOf, type Reader } from './client.ts'

const pagesMax = 10_000

/** What stands between an address and its cursor. */
const withCursor = (path: string, cursor: string): string =>
  cursor === '' ? path : `${path}${path.includes('?') ? '&' : '?'}cursor=${encodeURIComponent(cursor)}`

/** Every page of a list, by `next_cursor` to its end; `between` runs after each page but the last. */
async function walkPages(
  reader: Reader,
  path: string,
  between: (page: number) => Promise<void> = async () => {},
): Promise<readonly JsonObject[]> {
  const pages: JsonObject[] = []
  for (let cursor: string | null = ''; cursor !== null;) {
    const page = await answerOf(reader, withCursor(path, cursor))
    pages.push(page)
    expect(pages.length, 'pages of a walk').to.be.at.most(pagesMax)
    cursor = page['next_cursor'] as string | null
    if (cursor !== null) await between(pages.length)
  }
  return pages
}

/** The items of a walk, in its order; no page is longer than its limit. */
export async function walkItems(
  reader: Reader,
  path: string,
  { list, limit, between }: Readonly<{ list: string; limit: number; between?: (page: number) => Promise<void> }>,
): Promise<readonly JsonObject[]> {
  const pages = await walkPages(reader, `${path}${path.includes('?') ? '&' : '?'}limit=${limit}`, between)
  for (const page of pages) expect(listOf(page, list).length).to.be.at.most(limit)
  return pages.flatMap((page) => listOf(page, list))
}
