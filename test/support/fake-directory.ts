import { randomBytes } from 'node:crypto'
import { plans } from '#src/config.ts'
import type { FollowedView, Key, KeyKind, Workspace, WorkspacePlan } from '#src/directory/directory.ts'
import { createKeySecret, defaultScopes, isWellFormedKey, keyPrefixes } from '#src/directory/keys.ts'
import { beforeAll, type Position } from '#src/events/envelope.ts'
import { workspaceIdOf, type WorkspaceId } from '#src/events/workspace-id.ts'

export type FakeDirectory = Readonly<{
  view: FollowedView
  addWorkspace(id: string, plan?: WorkspacePlan): WorkspaceId
  setPlan(id: string, plan: WorkspacePlan): void
  /** The secret of a new key: this one, or any. */
  addKey(workspaceId: WorkspaceId, kind: KeyKind, more?: Partial<Key>, secret?: string): string
  revoke(secret: string): void
  /** Everybody is a member of every workspace, with a password that was set at the beginning, until they are told otherwise of. */
  removeMember(workspaceId: string, userId: string): void
  setPassword(userId: string, position: Position): void
  /** What the view does when it is asked to catch up; true at once if it is told nothing. */
  whenBehind(catchUp: () => Promise<boolean>): void
  /** How many secrets were looked up. */
  lookups(): number
}>

/** A directory in memory, without events: for tests of those who only read it. */
export function createFakeDirectory(): FakeDirectory {
  const workspaces = new Map<string, Workspace>()
  const keys = new Map<string, Key>()
  const removed = new Set<string>()
  const passwords = new Map<string, Position>()
  let lookups = 0
  let catchUp = async (): Promise<boolean> => true
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
      isMember: (workspaceId, userId) => !removed.has(`${workspaceId} ${userId}`),
      passwordPosition: (userId) => passwords.get(userId) ?? 0,
      caughtUp: () => catchUp(),
    },
    whenBehind: (given) => void (catchUp = given),
    addWorkspace: (text, plan) => {
      const id = workspaceIdOf(text)
      workspaces.set(id, { id, name: text, plan: planOf(plan), createdAt: 0 })
      return id
    },
    setPlan: (id, plan) => {
      const workspace = workspaces.get(id)
      if (workspace !== undefined) workspaces.set(id, { ...workspace, plan })
    },
    addKey: (workspaceId, kind, more = {}, secret = createKeySecret(kind, randomBytes)) => {
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
    removeMember: (workspaceId, userId) => void removed.add(`${workspaceId} ${userId}`),
    setPassword: (userId, position) => void passwords.set(userId, position),
    lookups: () => lookups,
  }
}
