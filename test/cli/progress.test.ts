import { expect } from 'chai'
import { withProgress } from '#src/cli/progress.ts'
import type { VerbContext } from '#src/cli/verb.ts'

/** What a terminal of this width is written while a log of many events is followed to its end. */
async function writtenTo(columns: number | undefined): Promise<readonly string[]> {
  let written = ''
  const stderr = {
    write: (text: string) => (written += text),
    isTTY: true,
    ...(columns === undefined ? {} : { columns }),
  }
  let now = 0
  const given = { io: { stderr }, options: {}, clock: () => (now += 100_000) } as unknown as VerbContext
  const until = 4096 * 123_456_789
  await withProgress(given, async (tell) => {
    for (const part of [0, 0.3, 1]) tell({ phase: 'verify', from: 0, position: Math.round(until * part), until })
  })
  return written.trimEnd().split('\r\u001b[2K').slice(1)
}

describe('how far a verb is, on a terminal', () => {
  it('is one line there however narrow it is: what is broken would stay, each time it is told anew', async () => {
    for (const columns of [20, 80]) {
      const lines = await writtenTo(columns)
      expect(lines).to.have.lengthOf(3)
      for (const line of lines)
        expect(line, line)
          .to.have.length.below(columns)
          .and.match(/^verify \[/)
    }
  })

  it('is all of it where there is room, or where the width is not known', async () => {
    for (const columns of [200, 0, undefined]) {
      const lines = await writtenTo(columns)
      expect(lines[1]).to.match(/ 30 % {2}37,037,037 events, [\d,]+\/s, \d+ s left$/)
    }
  })
})
