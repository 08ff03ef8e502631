import type { KeyScope } from '#src/directory/directory.ts'
import { keyKindNamed, keyKindNames, keyKinds, keyScopes } from '#src/directory/keys.ts'
import { ok } from '#src/lib/result.ts'
import { optional, repeated, required } from './options.ts'
import { keyJson, unseenSecret } from './show.ts'
import { unknownWorkspace } from './refusals.ts'
import { UsageError, type Verb } from './verb.ts'

function scopesOf(names: readonly string[], allowed: readonly KeyScope[]): readonly KeyScope[] {
  return names.map((name) => {
    const scope = allowed.find((each) => each === name)
    if (scope === undefined) throw new UsageError(`--scope ${name}: this kind of key may have ${allowed.join(', ')}`)
    return scope
  })
}

export const keyCreate: Verb = {
  usage: `--workspace W --kind ${keyKinds.join('|')} [--name N] [--origin O …] [--scope S …]`,
  about: 'creates a key and shows it once',
  options: {
    workspace: { type: 'string' },
    kind: { type: 'string' },
    name: { type: 'string' },
    origin: { type: 'string', multiple: true },
    scope: { type: 'string', multiple: true },
  },
  writes: true,
  run: async (context) => {
    const workspaceName = required(context, 'workspace')
    const kind = keyKindNamed(required(context, 'kind'))
    if (kind === undefined) throw new UsageError(`--kind is one of ${keyKinds.join(', ')}`)
    const scopes = scopesOf(repeated(context, 'scope'), keyScopes[kind])
    const directory = await context.directory()
    const workspace = directory.workspaceNamed(workspaceName)
    if (workspace === undefined) return unknownWorkspace(workspaceName)
    const created = await directory.createKey({
      workspaceId: workspace.id,
      kind,
      name: optional(context, 'name') ?? '',
      origins: repeated(context, 'origin'),
      ...(scopes.length === 0 ? {} : { scopes }),
    })
    if (!created.ok) return created
    const { key, secret } = created.value
    const text = `${secret}\nThis ${keyKindNames[kind]} of ${workspace.name} (${key.id}) is shown this once.`
    const unseen = unseenSecret(key)
    return ok({ json: { ...keyJson(key), secret }, text, unseen })
  },
}
