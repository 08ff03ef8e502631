import { expect } from 'chai'
import type { Position } from '#src/events/envelope.ts'
import { examine } from '#streams/sqlite/mending/examine.ts'
import { makeLogFolder } from '../support/log-folder.ts'
import { startProgram } from './programs/child.ts'

describe('a sqlite log that is looked at while somebody writes to it', () => {
  it('is sound, and as long as it was at one moment of that', async () => {
    const folder = await makeLogFolder()
    const written = 500
    const writer = startProgram('append.ts', [folder.file, 'beside', '1000000', 'here'])
    try {
      await writer.printed(written)
      const heads: Position[] = []
      for (let look = 0; look < 6; look++) {
        // What it prints is heard between looks, which leave no time for it.
        await writer.printed(writer.lines.length + 1)
        const verdict = examine({ file: folder.file, partition: '0', isInUse: true, isThorough: true })
        expect(verdict).to.have.property('kind', 'sound')
        if (verdict.kind === 'sound') heads.push(verdict.head)
      }
      expect(heads).to.deep.equal([...heads].sort((a, b) => a - b))
    } finally {
      await writer.kill()
      await folder.remove()
    }
  })
})
