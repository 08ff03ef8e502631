import type { FrozenPart } from '#projections/index-audit.ts'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import type { BuildContext } from '#projections/builds/build-place.ts'
import { createDeadLetters } from '#projections/folding/dead-letters.ts'
import { createDecoder } from '#projections/folding/decoded-event.ts'
import { PoisonError } from '#projections/folding/fold-batch.ts'
import type { IndexWriter } from '#projections/index-store.ts'
import { openLane, type Lane } from '#projections/folding/lane.ts'
import { liveBuilds, verify, type Verdict } from '#projections/builds/verify.ts'
import type { Position, RecordedEvent } from '#src/events/envelope.ts'
import { workspaceIdOf, type WorkspaceId } from '#src/events/workspace-id.ts'
import { PermanentError } from '#src/lib/failure.ts'
import { createMemoryStream } from '#streams/memory/stream.ts'
import type { Stream } from '#streams/stream.ts'
import { readAll } from '#test/support/read-all.ts'
import { sqliteContext } from '#test/support/build-context.ts'
import { counting, failingOn, lineDecoders, lineEvent } from '#test/support/line-projections.ts'
import { promote } from '#test/support/promote.ts'

const index = 'counting-v1-001'
const [heavy, light] = [workspaceIdOf('heavy'), workspaceIdOf('light')]

const failing = failingOn('poison')

describe('verify in a backlog', () => {
  let folder: string
  let stream: Stream
  let writer: IndexWriter
  let lane: Lane
  let sent: number
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'throughline-backlog-'))
    stream = createMemoryStream({ partition: '0' })
    sent = 0
    const { clock, limits, index: place } = sqliteContext({ stream }, folder)
    writer = place.writer()
    const deadLetters = createDeadLetters({ stream, clock })
    const options = { writer, epoch: stream.epoch, clock, limits, decode: createDecoder(lineDecoders), deadLetters }
    lane = await openLane(counting, index, options)
    await promote(writer, 'counting', index)
    // One after the other, so that each has its own place, and the first is compared first.
    for (const workspaceId of [light, heavy]) await foldAll([await send(workspaceId, 'begun')])
    await lane.heartbeat(await stream.head())
  })
  afterEach(async () => {
    await writer.close()
    rmSync(folder, { recursive: true })
  })

  const send = async (workspace: WorkspaceId, ...lines: readonly string[]): Promise<Position> =>
    (await stream.append([lineEvent(++sent, lines, workspace)])).last
  const eventsAt = async (places: readonly Position[]): Promise<readonly RecordedEvent[]> =>
    (await readAll(stream)).filter(({ position }) => places.includes(position))
  const decoded = async (places: readonly Position[]) => (await eventsAt(places)).map(createDecoder(lineDecoders))
  /** In their turn. */
  const foldAll = async (places: readonly Position[]): Promise<void> =>
    lane.fold(await decoded(places), Math.max(...places))
  /** As the projector does for everybody but `heavy`, and tells it; of a process that has ended nothing is told. */
  const foldAhead = async (places: readonly Position[], isTold = true): Promise<void> => {
    const behind = new Map([[heavy, lane.position()]])
    await lane.foldAhead(await decoded(places), { position: Math.max(...places), caughtUpAt: 0, behind })
    if (isTold) await lane.heartbeat(await stream.head())
  }

  /** `meanwhile`: when all parts have been looked at for their place, and the first is to be compared. */
  const verdictOf = async ({
    decoders = lineDecoders,
    meanwhile = async () => {},
    log = stream,
  } = {}): Promise<Verdict> => {
    const context = sqliteContext({ stream: log, decoders, projections: [counting] }, folder)
    const parts = (await context.index.audit().parts(index)).length
    let freezes = 0
    const held = new Set<FrozenPart>()
    const seen: BuildContext = {
      ...context,
      timers: { ...context.timers, pause: async () => expect.fail('it waits for the backlog') },
      index: {
        ...context.index,
        audit: () => {
          const audit = context.index.audit()
          const freeze: typeof audit.freeze = async (...given) => {
            if (++freezes === parts + 1) await meanwhile()
            const frozen = await audit.freeze(...given)
            held.add(frozen)
            const release = async (): Promise<void> => {
              held.delete(frozen)
              await frozen.release()
            }
            return { ...frozen, release }
          }
          return { ...audit, freeze }
        },
      },
    }
    try {
      return (await verify(seen, await liveBuilds(seen, ['counting'])))[0] as Verdict
    } finally {
      expect(held.size, 'parts that are still held').to.equal(0)
    }
  }
  const placesOf = ({ workspaces }: Verdict): Readonly<Record<string, Position>> =>
    Object.fromEntries(workspaces.map(({ workspaceId, position }) => [workspaceId, position]))

  it('compares at once whoever is behind others, each up to where it is', async () => {
    const before = await stream.head()
    await send(heavy, 'waits')
    const ahead = await send(light, 'need not')
    const verdict = await verdictOf({ meanwhile: () => foldAhead([ahead]) })
    expect(verdict).to.include({ equal: true, position: ahead })
    expect(placesOf(verdict)).to.deep.equal({ light: ahead, heavy: before })
  })

  it('compares who is behind, and gets on meanwhile, by what it has then, and by what was tried again', async () => {
    const left = await send(heavy, 'left out')
    const letters = createDeadLetters({ stream, clock: () => 5 })
    const [event] = await eventsAt([left])
    if (event !== undefined)
      await letters.put(counting, new PoisonError(event, new PermanentError({ operation: 'fold', subject: 'it' })))
    await letters.settle(counting, left, 'retried')
    const retried = await stream.head()
    await send(heavy, 'waits')
    const ahead = await send(light, 'need not')
    const verdict = await verdictOf({
      meanwhile: async () => {
        await foldAhead([ahead])
        await foldAll([retried])
      },
    })
    expect(verdict.differences).to.deep.equal([])
    expect(placesOf(verdict)).to.deep.equal({ light: ahead, heavy: retried })
  })

  it('does not meet an event that cannot be folded, where the index has not come to it', async () => {
    const before = await stream.head()
    await send(heavy, 'poison')
    await foldAhead([await send(light, 'need not')])
    const head = await stream.head()
    const verdict = await verdictOf({ decoders: failing })
    expect(verdict).to.include({ equal: true, position: head })
    expect(placesOf(verdict)).to.deep.equal({ light: head, heavy: before })
    expect(await stream.head()).to.equal(head)
  })

  it('ends at an event that the index has, cannot be folded now, and nobody has decided on', async () => {
    await send(heavy, 'waits')
    const poison = await send(light, 'poison')
    await foldAhead([poison, await send(light, 'more')])
    const failure: unknown = await verdictOf({ decoders: failing }).catch((error: unknown) => error)
    expect(String(failure)).to.match(new RegExp(`fold counting at ${poison}: .*cannot read poison \\(nobody has`))
  })

  it('names what is missing of who is ahead', async () => {
    await send(heavy, 'waits')
    await send(light, 'lost')
    await foldAhead([await send(light, 'there')])
    const { differences } = await verdictOf()
    expect(new Set(differences.map(({ workspaceId }) => workspaceId))).to.deep.equal(new Set([light]))
    expect(differences.map(({ id }) => id))
      .to.include('lost')
      .and.not.include('waits')
  })

  it('reads a backlog once, in an index that was stopped there', async () => {
    const many = Array.from({ length: 8 }, (_, n) => workspaceIdOf(`light-${n}`))
    const ahead: Position[] = []
    // On both sides of midnight: each has two parts.
    for (const [line, other] of Object.entries({ poison: 'one', waits: 'two', stands: 'three', rests: 'four' })) {
      for (let n = 0; n < 4; n++) await send(heavy, line)
      for (const workspaceId of many) ahead.push(await send(workspaceId, other))
    }
    for (const place of ahead) await foldAhead([place], false)
    let read = 0
    const counted: Stream = {
      ...stream,
      read: async (...given) => {
        const events = await stream.read(...given)
        read += events.length
        return events
      },
    }
    const verdict = await verdictOf({ decoders: failing, log: counted })
    expect(verdict.differences).to.deep.equal([])
    expect(Object.keys(placesOf(verdict))).to.have.members(['heavy', 'light', ...many])
    expect(read).to.be.below(2 * (await readAll(stream)).length)
  })
})
