declare const brand: unique symbol

/**
 * The tenant. Every read port asks for one, and only credential, session and codec code may make one
 * (test/architecture.test.ts lists the callers), so that no query can be written without a workspace.
 */
export type WorkspaceId = string & { readonly [brand]: 'WorkspaceId' }

/** Lower-case letters, digits and `-`, 1 to 40: safe in subjects, file names and index names. */
export const isWorkspaceId = (text: string): boolean => /^[a-z0-9][a-z0-9-]{0,39}$/.test(text)

export function workspaceIdOf(text: string): WorkspaceId {
  if (!isWorkspaceId(text)) throw new Error(`not a workspace id: ${JSON.stringify(text)}`)
  return text as WorkspaceId
}

/** Whether the directory could have made this id. The directory's own events have another one, and so may other things that stand where ids do. */
export const isOfTenant = (text: string): boolean => /^w[0-9a-f]{16}$/.test(text)
