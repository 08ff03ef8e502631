import type { Refused } from '#src/directory/directory-writer.ts'
import { fail } from '#src/lib/result.ts'

export const unknownWorkspace = (name: string) =>
  fail<Refused>({
    code: 'unknown',
    field: 'workspace',
    detail: `There is no workspace ${JSON.stringify(name)}; "throughline workspace list" shows them.`,
  })

export const unknownUser = (email: string) =>
  fail<Refused>({ code: 'unknown', field: 'email', detail: `There is no user ${JSON.stringify(email)}.` })

export const unknownKey = (id: string) =>
  fail<Refused>({
    code: 'unknown',
    field: 'id',
    detail: `There is no key ${JSON.stringify(id)}; "throughline key list" shows the ids.`,
  })
