import type { FollowedView } from '#src/directory/directory.ts'
import { refusal, type Refusal } from '#src/events/refusal.ts'
import { fail, ok, type Result } from '#src/lib/result.ts'
import type { Credential } from './credential.ts'

/**
 * The credential with its workspace as the log has it at this moment, not as this process knew it: for what would be refused for
 * good by a plan that another process may just have changed. Refused with 503 where that cannot be told.
 */
export type Renew = (credential: Credential) => Promise<Result<Credential, Refusal>>

const notKnown = refusal('unavailable', 'What the plan allows cannot be told now. Send the request again.')

export const createRenewal =
  (directory: FollowedView): Renew =>
  async (credential) => {
    if (!(await directory.caughtUp())) return fail(notKnown)
    const { workspaceId, workspace } = credential
    return ok({ ...credential, workspace: directory.workspace(workspaceId) ?? workspace })
  }
