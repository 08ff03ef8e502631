import { expect } from 'chai'
import { createProjectorThread, withBeside, type ProjectorThread } from '#src/compose/threads/projector.ts'

describe('the projector’s thread', () => {
  it('is ended where it does not let go of the indexes in time, and may be started again', async () => {
    const program = new URL('deaf-projector.ts', import.meta.url).href
    const projector = createProjectorThread(program, {}, { letGoMs: 10 })
    projector.start()
    await projector.stop()
    projector.start()
    await projector.stop()
  })
  it('goes on where it is started again before what runs beside it has stopped', async () => {
    const told: string[] = []
    const thread = {
      start: () => void told.push('start'),
      stop: async () => void told.push('stop'),
    } as ProjectorThread
    const stopped = Promise.withResolvers<void>()
    const projector = withBeside(thread, { start: () => undefined, stop: () => stopped.promise })
    projector.start()
    const stopping = projector.stop()
    projector.start()
    stopped.resolve()
    await stopping
    expect(told).to.deep.equal(['start', 'stop', 'start'])
  })
})
