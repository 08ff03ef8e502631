import { expect } from 'chai'
import { bringCluster } from '../support/clusters.ts'
import { enginesTimeoutMs } from '../support/engines.ts'
import { newDataFolder, removeFolder } from '../support/server.ts'
import { startProcess, type ServerProcess } from '../support/server-process.ts'

describe('npm run cluster', function () {
  this.timeout(enginesTimeoutMs)
  let dataFolder: string
  let running: ServerProcess
  let address = ''
  before(async () => {
    dataFolder = await newDataFolder()
    const { environment } = await bringCluster(dataFolder)
    const argv = ['infra/cluster/cluster.ts', '--ingest', '1', '--project', '1', '--query', '1', '--data', dataFolder]
    // As in a shell that has loaded `throughline env`, and the settings of a server of its own.
    const ofServer = { OPERATIONS_PORT: '9464', TLS_CERT: 'cert.pem', TLS_KEY: 'key.pem' }
    const shell = { ...environment, BASE_URL: 'http://127.0.0.1:1', ...ofServer }
    running = startProcess([...argv, '--port', '0', '--host', '127.0.0.1'], shell)
    const line = await running.printed(/^Throughline listening on http\S+ \(1 ingest, 1 project, 1 query\)/, 0)
    address = /http\S+/.exec(line)?.[0] ?? ''
  })
  after(async () => {
    await running.kill()
    await removeFolder(dataFolder)
  })

  it('leads to its processes by where they listen, whatever BASE_URL says', async () => {
    const statuses = ['/api/v1/traces', '/api/logs/v1/ingest'].map(async (path) => (await fetch(address + path)).status)
    expect(await Promise.all(statuses)).to.deep.equal([401, 405])
  })

  it('takes its processes with it, however it ends', async () => {
    // They hold its output: it is closed when the last of them is gone.
    const gone = new Promise((resolve) => running.child.once('close', resolve))
    running.child.kill('SIGKILL')
    await gone
  })

  it('refuses what it does not understand in one line', async () => {
    for (const [argv, said] of [
      [['--ingest', '0'], /^cluster: --ingest is a number of processes from 1 to 16$/],
      [['--querry', '2'], /^cluster: Unknown option '--querry'/],
      [['--port', 'http'], /^cluster: --port is a whole number from 0 to 65535$/],
      [['--query', 'many'], /^cluster: --query is a number/],
    ] as const) {
      const outcome = startProcess(['infra/cluster/cluster.ts', ...argv], {})
      const line = await outcome.printed(/./, 0)
      expect(line).to.match(said)
    }
  })
})
