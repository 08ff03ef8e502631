import { setImmediate } from 'node:timers/promises'
import { expect } from 'chai'
import { openLogIn } from '#src/compose/places.ts'
import type { ClusterConfig } from '#src/config.ts'
import { startPlainNats } from '../streams/plain-nats.ts'

const sockets = (): number => process.getActiveResourcesInfo().filter((name) => name.startsWith('TCP')).length

describe('a log that is opened over a connection of its own', () => {
  it('keeps no connection where it cannot be opened, which would keep a command line from its end', async () => {
    const server = await startPlainNats('jetstream { store_dir: "$FOLDER/jetstream" }')
    try {
      const before = sockets()
      const cluster = { natsUrl: server.url, indexPrefix: 'of-nobody' } as ClusterConfig
      const failure = await openLogIn({ cluster, partition: '0' }).catch((error: unknown) => error)
      expect(failure).to.have.property('name', 'PermanentError')
      // One that was kept would be there for ever: the test's own limit is all that there is.
      while (sockets() > before) await setImmediate()
    } finally {
      await server.remove()
    }
  })
})
