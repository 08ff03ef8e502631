/** A word that a POSIX shell takes as it is (XCU §2.2.2). */
export const shellQuote = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`

/** The same, without quotes if nothing in it is special to a shell: for people to read and copy. */
export const shellWord = (text: string): string => (/^[\w./:@%+,-]+$/.test(text) ? text : shellQuote(text))
