import type { FollowedView } from '#src/directory/directory.ts'
import { refusal, type Refusal } from '#src/events/refusal.ts'
import { fail, ok, type Result } from '#src/lib/result.ts'
import type { Credential } from './credential.ts'

/**
 * The credential with its workspace as it is in the log now, instead of as this process last knew it. Use it before a final refusal because
 * of a plan, which another process may just have changed. Refuses with 503 if that cannot be determined.
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
