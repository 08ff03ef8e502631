import { textOf } from './page-text.ts'

/** A link of a page as somebody sees it who cannot see the page, and where it leads. */
type PageLink = Readonly<{ name: string; address: string }>

const unescape = (text: string): string =>
  text
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&amp;', '&')

/** All links of a page's markup: the text, unless a label says more. */
export const linksOfPage = (markup: string): readonly PageLink[] =>
  [...markup.matchAll(/<a\b([^>]*)>([\s\S]*?)<\/a\s*>/g)].map(([, attributes = '', text = '']) => {
    const [, label] = /aria-label="([^"]*)"/.exec(attributes) ?? []
    const [, address = ''] = /href="([^"]*)"/.exec(attributes) ?? []
    return { name: unescape(label ?? textOf(text)).trim(), address: unescape(address) }
  })

export type ValueLink = Readonly<{ verb: string; words: string; address: string }>

/** The links beside values: to records with (`only`) and without (`not`) what the words say. */
export const valueLinksOf = (markup: string): readonly ValueLink[] =>
  linksOfPage(markup).flatMap(({ name, address }) => {
    const [, verb, words] = /^(only|not) (?:logs|spans) with ([^]*)$/.exec(name) ?? []
    return verb === undefined || words === undefined ? [] : [{ verb, words, address }]
  })
