const listItem = /"((?:[^"\\]|\\.)*)"(?=,|$)|[^,]+/gs

/** The items of a list: `a,"b,c"` gives `a` and `b,c`. An unclosed quote, or one inside an item, is an ordinary character. */
export const parseQuotedList = (list: string): readonly string[] =>
  [...list.matchAll(listItem)]
    .map(([item, quoted]) => quoted?.replaceAll(/\\(["\\])/g, '$1') ?? item)
    .filter((item) => item !== '')

const formatItem = (item: string): string => (/[",\\]/.test(item) ? `"${item.replaceAll(/["\\]/g, '\\$&')}"` : item)

/** The list with these items. */
export const formatQuotedList = (items: readonly string[]): string => items.map(formatItem).join(',')
