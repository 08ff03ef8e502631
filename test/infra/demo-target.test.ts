import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { readTarget } from '../../infra/demo/target.ts'

describe('where the demo sends', () => {
  const before = process.cwd()
  let place: string
  beforeEach(() => {
    place = mkdtempSync(join(tmpdir(), 'throughline-demo-'))
    for (const folder of ['data', 'other']) {
      mkdirSync(join(place, folder))
      const keys = { publishable: `pk ${folder}`, logs: `lt ${folder}`, tracing: `tt ${folder}` }
      writeFileSync(
        join(place, folder, 'first-run.json'),
        JSON.stringify({ base_url: `http://${folder}.example/`, keys }),
      )
    }
    process.chdir(place)
  })
  afterEach(() => {
    process.chdir(before)
    rmSync(place, { recursive: true })
  })

  const of = (folder: string) => ({
    baseUrl: `http://${folder}.example`,
    tracesToken: `tt ${folder}`,
    logsToken: `lt ${folder}`,
    rumKey: `pk ${folder}`,
  })
  const shell = {
    BASE_URL: 'http://shell.example',
    TRACES_TOKEN: 'tt shell',
    LOGS_TOKEN: 'lt shell',
    RUM_KEY: 'pk shell',
  }

  it('is the server whose variables the shell has loaded, else that of the data folder', () => {
    expect(readTarget(shell, undefined)).to.deep.equal(of('shell'))
    expect(readTarget({}, undefined)).to.deep.equal(of('data'))
    expect(readTarget({ THROUGHLINE_DATA: 'other' }, undefined)).to.deep.equal(of('other'))
    expect(readTarget({ BASE_URL: 'http://shell.example' }, undefined).baseUrl, 'a port changed since').to.equal(
      'http://shell.example',
    )
  })

  it('is the server of the folder that --data names, whatever the shell has loaded before', () => {
    expect(readTarget(shell, 'other')).to.deep.equal(of('other'))
    expect(readTarget({ BASE_URL: 'http://shell.example' }, 'other')).to.deep.equal(of('other'))
  })

  it('is that of ./data where THROUGHLINE_DATA is empty, as for the server', () => {
    expect(readTarget({ THROUGHLINE_DATA: '' }, undefined)).to.deep.equal(of('data'))
  })
})
