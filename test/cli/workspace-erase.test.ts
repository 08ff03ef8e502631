import { execFileSync } from 'node:child_process'
import { expect } from 'chai'
import { changeRoster, nominate } from '#projections/rosters/roster.ts'
import { withSeenEvents } from '#projections/folding/seen-events.ts'
import type { CliServices } from '#src/cli/services.ts'
import { TransientError } from '#src/lib/failure.ts'
import { createMemoryStream } from '#streams/memory/stream.ts'
import type { Stream } from '#streams/stream.ts'
import { foldShares } from '#projections/builds/fold-shares.ts'
import { buildPlaces, type Place } from '#test/support/build-places.ts'
import { counting, lineEvent } from '#test/support/line-projections.ts'
import { createServices, useInstallation } from './harness.ts'

const servicesOf = (place: Place, stream: Stream): CliServices => {
  const context = { ...place.context(stream, 1, undefined, [counting]), close: async () => undefined }
  return { ...createServices(), openBuilds: async () => [context] }
}

describe('throughline workspace erase', () => {
  const { run, json, serverSees } = useInstallation()

  it('names builds of another log that hold some of it as pending', async () => {
    const { id } = (await json('workspace', 'create', 'gone')) as { id: string }
    const place = (buildPlaces['memory'] as () => Place)()
    const foldInto = async (index: string, stream: Stream): Promise<void> => {
      const context = place.context(stream, 1, undefined, [counting])
      await stream.append([lineEvent(1, ['of the workspace'], id)])
      const until = await stream.head()
      await foldShares(context, context.index, [{ projection: 'counting', index, after: 0, until }])
    }
    const [before, now] = ['before', 'now'].map((epoch) => createMemoryStream({ partition: '0', epoch })) as [
      Stream,
      Stream,
    ]
    await foldInto('counting-v1-001', before)
    await foldInto('counting-v1-002', now)
    await place.writer().open('counting-v1-003', withSeenEvents(counting), 'without any of it')
    await changeRoster(place.writer(), 'counting', nominate('counting-v1-002'))
    const services = servicesOf(place, now)
    const { code, out, err } = await run(['workspace', 'erase', 'gone', '--confirm', 'gone', '--json'], { services })
    expect(code, err).to.equal(0)
    expect(JSON.parse(out)).to.deep.include({ erased: true, pending: ['counting-v1-002', 'counting-v1-001'] })
  })

  it('says of builds of another version that nothing folds them on, and what removes them', async () => {
    const { id } = (await json('workspace', 'create', 'left')) as { id: string }
    const place = (buildPlaces['memory'] as () => Place)()
    const stream = createMemoryStream({ partition: '0' })
    await stream.append([lineEvent(1, ['of the workspace'], id)])
    for (const version of [0, 1]) {
      const projection = { ...counting, version }
      const context = place.context(stream, 1, undefined, [projection])
      const index = `counting-v${version}-001`
      await foldShares(context, context.index, [
        { projection: 'counting', index, after: 0, until: await stream.head() },
      ])
    }
    const services = servicesOf(place, stream)
    const { code, out, err } = await run(['workspace', 'erase', 'left', '--confirm', 'left'], { services })
    expect(code, err).to.equal(0)
    expect(out.trim().split('\n').slice(1)).to.deep.equal([
      'Still to come: what these hold of it goes when they are folded on or dropped (start the server; finish or drop the rebuild): counting-v1-001.',
      'Of another version, and not folded on: what these hold of it goes when they do (see throughline builds), or by throughline drop once readers have left them: counting-v0-001.',
    ])
  })

  it('that is broken off says that the workspace is closed already, and what finishes it', async () => {
    const { id } = (await json('workspace', 'create', 'half')) as { id: string }
    const away = new TransientError({ operation: 'list', subject: 'builds', hint: 'no answer' })
    const services = { ...createServices(), openBuilds: () => Promise.reject(away) }
    const { code, err } = await run(['workspace', 'erase', 'half', '--confirm', 'half'], { services })
    expect(code).to.equal(1)
    const what =
      'finish erasing workspace half: list builds (no answer) (it is closed, and what it sent goes when the server can remove it'
    expect(err).to.equal(
      `throughline: ${what}; or run this again: throughline workspace erase ${id} --confirm ${id})\n`,
    )
    const { out } = await run(['workspace', 'list', '--json'])
    expect(out).not.to.include(id)
  })

  it('without --confirm says how to write it, in words that a shell takes as they are', async () => {
    const name = "Bob's shop; $(exit)"
    await json('workspace', 'create', name)
    const place = (buildPlaces['memory'] as () => Place)()
    const services = servicesOf(place, createMemoryStream({ partition: '0' }))
    const { code, out } = await run(['workspace', 'erase', name], { services })
    expect(code).to.equal(1)
    const [, command = ''] = /To erase it: throughline (.+)$/m.exec(out) ?? []
    const words = execFileSync('sh', ['-c', `printf '%s\\n' ${command}`], { encoding: 'utf8' })
      .trimEnd()
      .split('\n')
    expect(words).to.deep.equal(['workspace', 'erase', name, '--confirm', name])
    expect((await run(words, { services })).code).to.equal(0)
  })

  it('without --confirm says of one that is erased what is left of it, and how to finish', async () => {
    const { id } = (await json('workspace', 'create', 'ended')) as { id: string }
    const away = new TransientError({ operation: 'list', subject: 'builds', hint: 'no answer' })
    const broken = { ...createServices(), openBuilds: () => Promise.reject(away) }
    expect((await run(['workspace', 'erase', 'ended', '--confirm', 'ended'], { services: broken })).code).to.equal(1)
    const place = (buildPlaces['memory'] as () => Place)()
    const stream = createMemoryStream({ partition: '0' })
    await stream.append([lineEvent(1, ['of the workspace'], id)])
    const services = servicesOf(place, stream)
    const look = async () => {
      const { code, out } = await run(['workspace', 'erase', 'ended'], { services })
      const { out: answer } = await run(['workspace', 'erase', 'ended', '--json'], { services })
      return [code, out.trimEnd().split('\n'), (JSON.parse(answer) as { erased: unknown }).erased]
    }
    expect(await look()).to.deep.equal([
      1,
      [
        `Workspace ended (${id}) is erased already; of what it sent, this is left:`,
        '  1 event of the log, 20 bytes as stored: 0 spans, 1 log, 0 browser events',
        `Nothing was changed. To finish: throughline workspace erase ${id} --confirm ${id}`,
      ],
      true,
    ])
    expect((await run(['workspace', 'erase', id, '--confirm', id], { services })).code).to.equal(0)
    expect(await look()).to.deep.equal([
      0,
      [`Workspace ended (${id}) is erased already, and nothing that it sent is left.`],
      true,
    ])
  })

  it('tells an erased workspace from one made since under its name by their ids', async () => {
    const place = (buildPlaces['memory'] as () => Place)()
    const services = servicesOf(place, createMemoryStream({ partition: '0' }))
    const make = async () => (await json('workspace', 'create', 'shop'))['id'] as string
    const erase = (name: string) => run(['workspace', 'erase', name, '--confirm', name], { services })
    const first = await make()
    expect((await erase('shop')).code).to.equal(0)
    expect((await erase('shop')).code).to.equal(0)
    const second = await make()
    const refused = await erase('Shop')
    expect(refused.code).to.equal(1)
    expect(refused.err).to.include(first).and.to.include(second)
    expect(await serverSees((directory) => directory.workspaceNamed(second)?.name)).to.equal('shop')
    expect((await erase(second)).code).to.equal(0)
  })
})
