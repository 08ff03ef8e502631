import { expect } from 'chai'
import type { BuildContext } from '#projections/builds/build-place.ts'
import type { IndexWriter } from '#projections/index-store.ts'
import { rollBack } from '#projections/builds/roll-back.ts'
import { changeRoster, giveUp, nominate } from '#projections/rosters/roster.ts'
import { rebuild } from '#projections/builds/rebuild.ts'
import { buildPlaces, foldedPlace, withWriterOf, type Place } from '#test/support/build-places.ts'
import { counting, mirror } from '#test/support/line-projections.ts'
import { liveOf } from '#test/support/promote.ts'
import { createServices, useInstallation } from './harness.ts'

describe('throughline rollback', () => {
  const { run } = useInstallation()
  const all = [counting, mirror]
  let place: Place
  let context: BuildContext
  beforeEach(async () => {
    ;({ place, context } = await foldedPlace(buildPlaces['memory'] as () => Place, 30))
    await rebuild(context, all)
  })
  afterEach(() => place.remove())

  const rollback = async (which: string, index: BuildContext['index'] = context.index): Promise<string> => {
    const openBuilds = async () => [{ ...context, index, close: async () => undefined }]
    const { out, err } = await run(['rollback', which], { services: { ...createServices(), openBuilds } })
    return out + err
  }
  const lives = () => withWriterOf(place, (writer) => Promise.all(all.map(({ name }) => liveOf(writer, name))))

  it('moves readers where it was to, also when another one has moved them there meanwhile', async () => {
    for (const [way, builds] of [
      ['back', ['counting-v1-001', 'mirror-v1-001']],
      ['forward', ['counting-v1-002', 'mirror-v1-002']],
    ] as const) {
      let other: Promise<string> | undefined
      const writer = (): IndexWriter => {
        const made = context.index.writer()
        return {
          ...made,
          changeRoster: async (...given) => {
            await (other ??= rollback('all'))
            return made.changeRoster(...given)
          },
        }
      }
      const said = await rollback('all', { ...context.index, writer })
      for (const each of [await other, said]) expect(each, way).to.contain(`Readers use ${builds[1]} again`)
      expect(await lives(), way).to.deep.equal(builds)
    }
  })

  it('moves those that can go back, and says why others stay', async () => {
    expect(await rollback('counting')).to.equal('Readers use counting-v1-001 again; counting-v1-002 is kept.\n')
    expect(await rollback('all')).to.equal(
      'Readers use mirror-v1-001 again; mirror-v1-002 is kept.\ncounting stays: its readers have gone back already.\n',
    )
    expect(await lives()).to.deep.equal(['counting-v1-001', 'mirror-v1-001'])
  })

  it('says where readers are about to move, when there is nowhere to go back to', async () => {
    await rollBack(context, counting)
    await withWriterOf(place, (writer) => changeRoster(writer, 'counting', nominate('counting-v1-002')))
    expect(await rollback('counting')).to.contain(
      'no earlier build of it is kept; readers are about to move to counting-v1-002',
    )
    await withWriterOf(place, (writer) => changeRoster(writer, 'counting', giveUp('counting-v1-002')))
    expect(await rollback('counting')).to.contain('(no earlier build of it is kept)')
  })
})
