import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { createSqliteIndexWriter } from '#projections/stores/sqlite/writing/writer.ts'
import { foldersOf } from '#src/compose/folders.ts'
import { tellUnknownWorkspaces } from '#src/compose/unknown-workspaces.ts'
import { workspaceIdOf } from '#src/events/workspace-id.ts'
import { epoch, fixture } from '#test/support/index-fixture.ts'
import { limits } from '#test/support/sqlite-fixture.ts'

const idOf = (n: number): string => `w${String(n).padStart(16, '0')}`
const workspaceOf = (n: number) => ({ id: workspaceIdOf(idOf(n)), name: `${n}` })

describe('workspaces that the indexes hold', () => {
  const dataFolder = mkdtempSync(join(tmpdir(), 'throughline-unknown-'))
  const folders = foldersOf(dataFolder)
  const [first, second] = ['logs-v1-001', 'traces-v1-001']
  const directory = {
    workspaces: () => [{ ...workspaceOf(1), plan: 'free', createdAt: 0 }],
    erasedWorkspaces: () => [{ ...workspaceOf(2), position: 0 }],
  } as unknown as Parameters<typeof tellUnknownWorkspaces>[1]
  const told = (): string => {
    const lines: string[] = []
    tellUnknownWorkspaces(folders, directory, (line) => lines.push(line))
    return lines.join('\n')
  }
  const hold = (index: string, names: readonly string[]): void =>
    names.forEach((name) => mkdirSync(join(folders.indexFolder, index, name)))

  before(async () => {
    mkdirSync(folders.indexFolder, { recursive: true })
    const writer = createSqliteIndexWriter({ folder: folders.indexFolder, limits })
    for (const index of [first, second]) await writer.open(index, fixture, epoch)
    await writer.close()
  })
  after(() => rmSync(dataFolder, { recursive: true, force: true }))

  it('are not told where the directory knows them, or has erased them, nor is a build in another', () => {
    hold(first, [idOf(1), idOf(2), first])
    expect(told()).to.equal('')
  })

  it('are told once where it has never heard of them, the first of many by their ids', () => {
    hold(first, [3, 4, 5].map(idOf))
    hold(second, [3, 6, 7, 8].map(idOf))
    expect(told()).to.include(`it does not know: ${[3, 4, 5, 6, 7].map(idOf).join(', ')}, … (6 of them).`)
  })
})
