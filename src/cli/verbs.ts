import type { Verb } from './verb.ts'

/**
 * Every verb by its name, one word or two, in the order of the help. Each is loaded only when it is asked for: to load what all of them need takes
 * longer than most verbs run.
 */
export const verbs: Readonly<Record<string, () => Promise<Verb>>> = {
  'workspace create': async () => (await import('./workspace-create.ts')).workspaceCreate,
  'workspace plan': async () => (await import('./workspace-plan.ts')).workspacePlan,
  'workspace list': async () => (await import('./workspace-list.ts')).workspaceList,
  'workspace erase': async () => (await import('./workspace-erase.ts')).workspaceErase,
  'user create': async () => (await import('./user-create.ts')).userCreate,
  'user add': async () => (await import('./user-add.ts')).userAdd,
  'user remove': async () => (await import('./user-remove.ts')).userRemove,
  'user password': async () => (await import('./user-password.ts')).userPassword,
  'key create': async () => (await import('./key-create.ts')).keyCreate,
  'key list': async () => (await import('./key-list.ts')).keyList,
  'key rotate': async () => (await import('./key-rotate.ts')).keyRotate,
  'key revoke': async () => (await import('./key-revoke.ts')).keyRevoke,
  status: async () => (await import('./status.ts')).status,
  builds: async () => (await import('./builds.ts')).builds,
  verify: async () => (await import('./verify.ts')).verify,
  rebuild: async () => (await import('./rebuild.ts')).rebuild,
  rollback: async () => (await import('./rollback.ts')).rollback,
  drop: async () => (await import('./drop.ts')).drop,
  'dead-letters list': async () => (await import('./dead-letters.ts')).deadLettersList,
  'dead-letters show': async () => (await import('./dead-letters.ts')).deadLettersShow,
  'dead-letters retry': async () => (await import('./dead-letters.ts')).deadLettersRetry,
  'dead-letters drop': async () => (await import('./dead-letters.ts')).deadLettersDrop,
  replay: async () => (await import('./replay.ts')).replay,
  backup: async () => (await import('./back-up.ts')).backUp,
  'move-log': async () => (await import('./move-log.ts')).moveLog,
  'first-run': async () => (await import('./first-run.ts')).firstRun,
  env: async () => (await import('./env.ts')).env,
}
