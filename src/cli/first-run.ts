import { describeFirstRun, prepareFirstRun } from '#src/directory/first-run.ts'
import { makeDataFolder } from '#src/lib/make-folder.ts'
import { ok } from '#src/lib/result.ts'
import { required } from './options.ts'
import { UsageError, type Verb } from './verb.ts'

export const firstRun: Verb = {
  usage: '--base-url URL',
  about: 'in an empty cluster: creates a workspace, its owner and a key of each kind, and keeps them in first-run.json',
  options: { 'base-url': { type: 'string' } },
  writes: true,
  run: async (context) => {
    const { dataFolder, random, clock } = context
    const baseUrl = required(context, 'base-url').replace(/\/+$/, '')
    // The address is written once, and kept.
    if (!/^https?:$/.test(URL.parse(baseUrl)?.protocol ?? ''))
      throw new UsageError('--base-url is an address, http://… or https://…')
    const directory = await context.directory()
    makeDataFolder(dataFolder)
    const made = await prepareFirstRun({ directory, dataFolder, baseUrl, random })
    if (made === undefined)
      return ok({ json: { made: false }, text: 'There is a workspace already: nothing was made.' })
    return ok({ json: { made: true }, text: describeFirstRun(made, clock(), random) })
  },
}
