import type { Key, User, Workspace } from '#src/directory/directory.ts'
import { shellWord } from '#src/lib/shell-quote.ts'

/** `1 workspace`, `12,345 workspaces`. */
export const counted = (count: number, one: string, many = `${one}s`): string =>
  `${count.toLocaleString('en')} ${count === 1 ? one : many}`

export const isoTime = (ms: number | null): string | null => (ms === null ? null : new Date(ms).toISOString())

/** What to do about a key whose secret nobody has seen. */
export const unseenSecret = ({ id }: Key): string =>
  `the key ${id} is made and its secret lost: throughline key revoke ${id}, and make another`

/** The same for a password. */
export const unseenPassword = ({ email }: User): string =>
  `the new password is lost: throughline user password ${shellWord(email)} makes another`

export const workspaceJson = ({ id, name, plan, createdAt }: Workspace) => ({
  id,
  name,
  plan: plan.name,
  created_at: isoTime(createdAt),
})

/** A key as everybody may see it. */
export const keyJson = (key: Key) => ({
  id: key.id,
  workspace: key.workspaceId,
  kind: key.kind,
  name: key.name,
  scopes: key.scopes,
  prefix: key.prefix,
  last4: key.last4,
  origins: key.origins,
  created_at: isoTime(key.createdAt),
  revoked_at: isoTime(key.revokedAt),
  works_until: isoTime(key.worksUntil),
  exposed: key.exposed,
})

/** Rows in columns, two blanks apart. */
export function table(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)))
  return rows
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}
