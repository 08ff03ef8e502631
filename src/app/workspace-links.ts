// If a person belongs to several workspaces, all links and searches of a page name the workspace that it shows; an address that names none is
// redirected to one that does. The name is only compared (account/other-workspace.ts): a page always shows the session's workspace.
// Links are marked in the finished page, not where they are made: that is in sixty places, none of which knows whose page it is on, and a forgotten
// one would silently lead to another workspace's records.

/** The workspace that a page was shown in: a parameter of addresses, and a field of forms. */
export const shownIn = 'shown_in'

/**
 * Links to our own pages, also those that scripts/matches.js makes, except to the choice of a workspace; and forms that use GET. An apostrophe is
 * `&#39;` in markup: its `#` begins no fragment.
 */
const ownLink =
  /((?:<a\s(?:[^>]*\s)?href|\sdata-(?:previous|next))=")(\/app(?!\/workspace\b)(?:[/?](?:&#\d+;|[^"#])*)?)(?=["#])/g
const ownSearch = /<form\s[^>]*method="get"[^>]*>/g

/**
 * The markup of a page with the workspace in its links and searches. Text on the page cannot look like a link, because its quotes and brackets are
 * escaped.
 */
export const withWorkspace = (markup: string, workspaceId: string): string =>
  markup
    .replace(ownLink, (_, start: string, address: string) => {
      return `${start}${address}${address.includes('?') ? '&amp;' : '?'}${shownIn}=${workspaceId}`
    })
    .replace(ownSearch, (form) => `${form}<input type="hidden" name="${shownIn}" value="${workspaceId}" />`)

/** A page's address with the workspace added; otherwise unchanged, character for character. */
export const inWorkspace = (url: string, workspaceId: string): string =>
  `${url}${url.includes('?') ? '&' : '?'}${shownIn}=${workspaceId}`

type Asked = Readonly<{ workspaceId: string | undefined; url: string }>

/** The workspace that an address names, and the address without it, otherwise unchanged: cursors are bound to it. */
export function splitWorkspace(url: string): Asked {
  const [path = '', ...rest] = url.split('?')
  const parts = rest.join('?').split('&')
  const said = parts.filter((part) => part.startsWith(`${shownIn}=`))
  const others = parts.filter((part) => !said.includes(part)).join('&')
  const workspaceId = said.map((part) => part.slice(shownIn.length + 1)).find((id) => id !== '')
  return { workspaceId, url: others === '' ? path : `${path}?${others}` }
}
