import { randomBytes } from 'node:crypto'
import { DatabaseSync } from 'node:sqlite'
import { expect } from 'chai'
import { makeLogFolder } from '../support/log-folder.ts'
import { makeEvent } from '../support/make-event.ts'

describe('the beginning that is cut off a sqlite log', () => {
  it('leaves the file, however large its events are beside what one step removes', async () => {
    const log = await makeLogFolder()
    try {
      const stream = await log.open()
      // Each is more than a step removes beside another, and the first more than it removes at all.
      for (const [index, mebibytes] of [9, 5, 5].entries())
        await stream.append([makeEvent(`large-${index}`, { payload: randomBytes(mebibytes * 1024 * 1024) })])
      const cutAt = await stream.head()
      const { last } = await stream.append([makeEvent('last')])
      await stream.cut(cutAt)
      const database = new DatabaseSync(log.file, { readOnly: true })
      const rows = database.prepare('SELECT seq * 4096 AS position FROM events').all()
      database.close()
      expect(rows.map(({ position }) => position)).to.deep.equal([last])
      await stream.close()
    } finally {
      await log.remove()
    }
  })
})
