import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { readFirstRun } from '#src/directory/first-run.ts'
import type { Refused } from '#src/directory/directory-writer.ts'
import { fail, ok } from '#src/lib/result.ts'
import { shellQuote } from '#src/lib/shell-quote.ts'
import type { Verb } from './verb.ts'

export const env: Verb = {
  about: 'prints keys and sign-in of the first run for a shell: eval "$(npx throughline env)"',
  run: async ({ dataFolder }) => {
    const firstRun = readFirstRun(dataFolder)
    if (firstRun === undefined) {
      const detail = existsSync(join(dataFolder, 'first-run.json'))
        ? `first-run.json in ${dataFolder} is damaged: make keys with "throughline key create", a password with "throughline user password".`
        : `There is no first-run.json in ${dataFolder}; it is written by the first start.`
      return fail<Refused>({ code: 'unknown', field: 'data', detail })
    }
    const { base_url, sign_in, keys } = firstRun
    const variables = {
      BASE_URL: base_url,
      TRACES_TOKEN: keys.tracing,
      LOGS_TOKEN: keys.logs,
      RUM_KEY: keys.publishable,
      API_KEY: keys.api,
      OWNER_EMAIL: sign_in.email,
      OWNER_PASSWORD: sign_in.password,
    }
    const lines = Object.entries(variables).map(([name, value]) => `export ${name}=${shellQuote(value)}`)
    return ok({ json: variables, text: lines.join('\n') })
  },
}
