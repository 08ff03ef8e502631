import { randomBytes } from 'node:crypto'
import { plans } from '#src/config.ts'
import type { DirectoryView, Key, KeyKind, Workspace, WorkspacePlan } from '#src/directory/directory.ts'
import { createKeySecret, defaultScopes, isWellFormedKey, keyPrefixes } from '#src/directory/keys.ts'
import { beforeAll } from '#src/events/envelope.ts'
import { workspaceIdOf, type WorkspaceId } from '#src/events/workspace-id.ts'

export type FakeDirectory = Readonly<{
  view: DirectoryView
  addWorkspace(id: string, plan?: WorkspacePlan): WorkspaceId
  setPlan(id: string, plan: WorkspacePlan): void
  /** The secret of a new key. */
  addKey(workspaceId: WorkspaceId, kind: KeyKind, more?: Partial<Key>): string
  revoke(secret: string): void
  /** How many secrets were looked up. */
  lookups(): number
}>

/** A directory in memory, without events: for tests of those who only read it. */
export function createFakeDirectory(): FakeDirectory {
  const workspaces = new Map<string, Workspace>()
  const keys = new Map<string, Key>()
  let lookups = 0
  const planOf = (plan: WorkspacePlan | undefined): WorkspacePlan => plan ?? (plans['pro'] as WorkspacePlan)
  return {
    view: {
      position: () => beforeAll,
      workspace: (id) => workspaces.get(id),
      findKey: (secret) => {
        if (!isWellFormedKey(secret)) return undefined
        lookups++
        return keys.get(secret)
      },
      keys: (workspaceId) => [...keys.values()].filter((key) => key.workspaceId === workspaceId),
      session: () => undefined,
    },
    addWorkspace: (text, plan) => {
      const id = workspaceIdOf(text)
      workspaces.set(id, { id, name: text, plan: planOf(plan), createdAt: 0 })
      return id
    },
    setPlan: (id, plan) => {
      const workspace = workspaces.get(id)
      if (workspace !== undefined) workspaces.set(id, { ...workspace, plan })
    },
    addKey: (workspaceId, kind, more = {}) => {
      const secret = createKeySecret(kind, randomBytes)
      keys.set(secret, {
        id: `key-${keys.size + 1}`,
        workspaceId,
        kind,
        scopes: defaultScopes(kind),
        name: kind,
        prefix: keyPrefixes[kind],
        last4: secret.slice(-4),
        origins: [],
        createdAt: 0,
        revokedAt: null,
        worksUntil: null,
        exposed: false,
        ...more,
      })
      return secret
    },
    revoke: (secret) => {
      const key = keys.get(secret)
      if (key !== undefined) keys.set(secret, { ...key, revokedAt: 1 })
    },
    lookups: () => lookups,
  }
}
