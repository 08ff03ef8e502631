import { ok } from '#src/lib/result.ts'
import { choosePassword } from './read-password.ts'
import { unknownUser } from './refusals.ts'
import { unseenPassword } from './show.ts'
import type { Verb } from './verb.ts'

export const userPassword: Verb = {
  names: ['EMAIL'],
  usage: '[--password-stdin]',
  about: 'sets a new password for somebody who has forgotten theirs; ends all their sessions',
  options: { 'password-stdin': { type: 'boolean' } },
  writes: true,
  run: async (context) => {
    const [email = ''] = context.names
    const directory = await context.directory()
    const user = directory.userByEmail(email)
    if (user === undefined) return unknownUser(email)
    const { password, isGenerated } = await choosePassword(context)
    const changed = await directory.changePassword({ userId: user.id, password })
    if (!changed.ok) return changed
    const shown = isGenerated ? { password } : {}
    const unseen = isGenerated ? { unseen: unseenPassword(user) } : {}
    const once = isGenerated ? ` Shown this once: ${password}` : ''
    const text = `${user.email} has a new password.${once}`
    return ok({ json: { id: user.id, email: user.email, ...shown }, text, ...unseen })
  },
}
