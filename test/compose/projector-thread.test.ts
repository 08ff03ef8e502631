import { createProjectorThread } from '#src/compose/threads/projector.ts'

describe('the projector’s thread', () => {
  it('is ended where it does not let go of the indexes in time, and may be started again', async () => {
    const program = new URL('deaf-projector.ts', import.meta.url).href
    const projector = createProjectorThread(program, {}, { letGoMs: 10 })
    projector.start()
    await projector.stop()
    projector.start()
    await projector.stop()
  })
})
