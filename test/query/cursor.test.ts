import { expect } from 'chai'
import { workspaceIdOf } from '#src/events/workspace-id.ts'
import { createCursors } from '#src/query/cursor.ts'

const cursors = createCursors('a secret of the installation')
const binding = { workspaceId: workspaceIdOf('acme'), endpoint: 'logs', fingerprint: '[["q","timeout"]]' }
const place = {
  key: { value: 1795240001079262377n, id: '8000-x-1' },
  fromNs: 1795240000000000000n,
  toNs: 1795250000000000001n,
}

describe('cursors', () => {
  it('come back as they were written, integers to the digit', () => {
    expect(cursors.read(binding, cursors.write(binding, place))).to.deep.equal({ ok: true, value: place })
  })

  const refusedOf = (other: typeof binding, cursor: string): string => {
    const read = cursors.read(other, cursor)
    return read.ok ? '' : read.error.code
  }

  it('belong to one query of one endpoint', () => {
    expect(refusedOf({ ...binding, fingerprint: '[]' }, cursors.write(binding, place))).to.equal('cursor_mismatch')
    expect(refusedOf({ ...binding, endpoint: 'traces' }, cursors.write(binding, place))).to.equal('cursor_mismatch')
  })

  it('belong to one workspace and installation', () => {
    const cursor = cursors.write(binding, place)
    expect(refusedOf({ ...binding, workspaceId: workspaceIdOf('other') }, cursor)).to.equal('invalid_cursor')
    expect(createCursors('another').read(binding, cursor).ok).to.equal(false)
  })

  it('are refused when any character is changed', () => {
    const cursor = cursors.write(binding, place)
    for (let index = 0; index < cursor.length; index++) {
      const other = cursor[index] === 'A' ? 'B' : 'A'
      const changed = cursor.slice(0, index) + other + cursor.slice(index + 1)
      expect(refusedOf(binding, changed), `character ${index}`).to.equal('invalid_cursor')
    }
    for (const garbage of [
      '',
      '.',
      'x',
      'x.y.z',
      `${cursor}.`,
      cursor.slice(0, -1),
      '💥'.repeat(9),
      `a.é${'A'.repeat(21)}`,
    ]) {
      expect(refusedOf(binding, garbage), garbage).to.equal('invalid_cursor')
    }
  })
})
