import { backUp } from './back-up.ts'
import { builds } from './builds.ts'
import { deadLettersDrop, deadLettersList, deadLettersRetry, deadLettersShow } from './dead-letters.ts'
import { drop } from './drop.ts'
import { env } from './env.ts'
import { firstRun } from './first-run.ts'
import { keyCreate } from './key-create.ts'
import { keyList } from './key-list.ts'
import { keyRevoke } from './key-revoke.ts'
import { keyRotate } from './key-rotate.ts'
import { moveLog } from './move-log.ts'
import { rebuild } from './rebuild.ts'
import { replay } from './replay.ts'
import { rollback } from './rollback.ts'
import { status } from './status.ts'
import { userAdd } from './user-add.ts'
import { userCreate } from './user-create.ts'
import { userPassword } from './user-password.ts'
import { userRemove } from './user-remove.ts'
import type { Verb } from './verb.ts'
import { verify } from './verify.ts'
import { workspaceCreate } from './workspace-create.ts'
import { workspaceErase } from './workspace-erase.ts'
import { workspaceList } from './workspace-list.ts'
import { workspacePlan } from './workspace-plan.ts'

/** Every verb, in the order of the help. */
export const verbs: readonly Verb[] = [
  workspaceCreate,
  workspacePlan,
  workspaceList,
  workspaceErase,
  userCreate,
  userAdd,
  userRemove,
  userPassword,
  keyCreate,
  keyList,
  keyRotate,
  keyRevoke,
  status,
  builds,
  verify,
  rebuild,
  rollback,
  drop,
  deadLettersList,
  deadLettersShow,
  deadLettersRetry,
  deadLettersDrop,
  replay,
  backUp,
  moveLog,
  firstRun,
  env,
]
