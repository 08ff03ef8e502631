import { ok } from '#src/lib/result.ts'
import { shellWord } from '#src/lib/shell-quote.ts'
import { required } from './options.ts'
import type { Verb } from './verb.ts'

export const backUp: Verb = {
  usage: '--to FOLDER',
  about:
    'copies the log, the directory and the secrets of a data folder, as of one moment, into a new folder; the server may be running; a server that is started on the copy folds the indexes again',
  options: { to: { type: 'string' } },
  run: async (given) => {
    const folder = required(given, 'to')
    const { log, directory } = await given.services.backUp(given.dataFolder, folder)
    return ok({
      json: { folder, log: { position: log }, directory: { position: directory } },
      text: [
        `The log is in ${folder} up to position ${log}, the directory up to position ${directory}. Keep it as you keep secrets: they are in it.`,
        `To go back to it: THROUGHLINE_DATA=${shellWord(folder)} npm start`,
      ].join('\n'),
    })
  },
}
