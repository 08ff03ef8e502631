import { streamContract } from '#test/contracts/stream.ts'
import { makeLogFolder } from '../support/log-folder.ts'

for (const thread of [false, true]) {
  streamContract(`sqlite, ${thread ? 'writing in a thread of its own' : 'writing in the caller’s thread'}`, {
    durable: true,
    create: async () => {
      const { open, sql, remove } = await makeLogFolder()
      return {
        open: () => open({ thread }),
        damage: {
          payload: (index) => sql(`UPDATE events SET payload = CAST('spoilt' AS BLOB) WHERE seq = ${index + 1}`),
          header: (index) =>
            sql(`UPDATE events SET header = replace(header, 'key-1', 'key-2') WHERE seq = ${index + 1}`),
          row: (index) => sql(`DELETE FROM events WHERE seq = ${index + 1}`),
        },
        cleanUp: remove,
      }
    },
  })
}
