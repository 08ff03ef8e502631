/** The text of a page with its times as they are read. */
export const withPlainTimes = (text: string): string => text.replaceAll(/<\/?time\b[^>]*>/g, '')
