import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { openEmbeddedEngines } from '#src/compose/embedded.ts'
import type { Engines } from '#src/compose/engines.ts'
import { readConfig } from '#src/config.ts'
import { workspaceIdOf } from '#src/events/workspace-id.ts'
import { abortScope } from '#src/lib/abort-scope.ts'
import { PermanentError } from '#src/lib/failure.ts'

describe('the engines of the embedded form', () => {
  const folder = mkdtempSync(join(tmpdir(), 'throughline-engines-'))
  let engines: Engines

  before(async () => {
    engines = await openEmbeddedEngines(readConfig({ THROUGHLINE_DATA: folder }))
  })
  after(async () => {
    await engines.close()
    rmSync(folder, { recursive: true })
  })

  it('make no data folder: another installation would begin where one was moved while a worker was started', async () => {
    const gone = join(folder, 'gone')
    const failure = await openEmbeddedEngines(readConfig({ THROUGHLINE_DATA: gone })).catch((error: unknown) => error)
    expect(failure).to.be.instanceOf(PermanentError)
    expect(existsSync(gone)).to.equal(false)
  })

  it('ask nothing more for a request whose client is gone', async () => {
    const gone = new AbortController()
    const reader = abortScope.run(gone.signal, () => engines.readerOf(workspaceIdOf('acme')))
    expect(await reader.progress('logs')).to.equal(undefined)
    gone.abort('gone')
    expect(await reader.progress('logs').catch((error: unknown) => error)).to.equal('gone')
    expect(await engines.readerOf(workspaceIdOf('acme')).progress('logs')).to.equal(undefined)
  })
})
