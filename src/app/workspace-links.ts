// Where a person belongs to several workspaces, all links and searches of a page say which one it shows, and an address that does not is led to the
// one that does. It is only compared (account/other-workspace.ts): what is shown is always of the session's own.
// They are marked in the finished page and not where each is made: that is in sixty places, of which none knows whose page it is on, and one that is
// forgotten would lead to another workspace's records without a word.

/** In which workspace a page was shown: a parameter of addresses, and a field of forms. */
export const shownIn = 'shown_in'

/**
 * Links to our own pages, but for the one where another workspace is chosen; and forms that are sent as an address. An apostrophe is written
 * `&#39;` in markup: its `#` begins no fragment.
 */
const ownLink = /(<a\s(?:[^>]*\s)?href=")(\/app(?!\/workspace\b)(?:[/?](?:&#\d+;|[^"#])*)?)(?=["#])/g
const ownSearch = /<form\s[^>]*method="get"[^>]*>/g

/** The markup of a page with the workspace in its links and searches. Text in it cannot pass for a link: it has no quotes and no brackets. */
export const withWorkspace = (markup: string, workspaceId: string): string =>
  markup
    .replace(ownLink, (_, start: string, address: string) => {
      return `${start}${address}${address.includes('?') ? '&amp;' : '?'}${shownIn}=${workspaceId}`
    })
    .replace(ownSearch, (form) => `${form}<input type="hidden" name="${shownIn}" value="${workspaceId}" />`)

/** An address of a page that says which workspace it is of; it stays the same to the letter otherwise. */
export const inWorkspace = (url: string, workspaceId: string): string =>
  `${url}${url.includes('?') ? '&' : '?'}${shownIn}=${workspaceId}`

type Asked = Readonly<{ workspaceId: string | undefined; url: string }>

/** The workspace that an address says, and the address without it, to the letter: cursors are bound to the rest. */
export function splitWorkspace(url: string): Asked {
  const [path = '', ...rest] = url.split('?')
  const parts = rest.join('?').split('&')
  const said = parts.filter((part) => part.startsWith(`${shownIn}=`))
  const others = parts.filter((part) => !said.includes(part)).join('&')
  const workspaceId = said.map((part) => part.slice(shownIn.length + 1)).find((id) => id !== '')
  return { workspaceId, url: others === '' ? path : `${path}?${others}` }
}
