const listItem = /"((?:[^"\\]|\\.)*)"(?=,|$)|[^,]+/gs

/** The items of a list: `a,"b,c"` are `a` and `b,c`. A quote that is closed nowhere, or within an item, is one of its characters. */
export const parseQuotedList = (list: string): readonly string[] =>
  [...list.matchAll(listItem)]
    .map(([item, quoted]) => quoted?.replaceAll(/\\(["\\])/g, '$1') ?? item)
    .filter((item) => item !== '')

const formatItem = (item: string): string => (/[",\\]/.test(item) ? `"${item.replaceAll(/["\\]/g, '\\$&')}"` : item)

/** The list that has these items. */
export const formatQuotedList = (items: readonly string[]): string => items.map(formatItem).join(',')
