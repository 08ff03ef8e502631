import { expect } from 'chai'
import { createDeadLetters } from '#projections/folding/dead-letters.ts'
import { PoisonError } from '#projections/folding/fold-batch.ts'
import { projections } from '#projections/registry.ts'
import type { RecordedEvent } from '#src/events/envelope.ts'
import { PermanentError } from '#src/lib/failure.ts'
import { createMemoryStream } from '#streams/memory/stream.ts'
import type { Stream } from '#streams/stream.ts'
import { append } from '../support/projector-run.ts'
import { makeEvent } from '../support/make-event.ts'
import { readAll } from '../support/read-all.ts'
import { createServices, useInstallation } from './harness.ts'

const fold = projections.find(({ name }) => name === 'logs')!

describe('the verbs of dead letters', () => {
  const { run } = useInstallation()
  let stream: Stream
  const letters = () => createDeadLetters({ stream, clock: () => 5 })
  const states = async () => (await letters().letters(fold)).map(({ state }) => state)
  const runOn = async (log: Stream, ...argv: readonly string[]) => {
    // Each run closes what it has opened.
    const services = { ...createServices(), openLogs: async () => [{ ...log, close: async () => undefined }] }
    const { code, out, err } = await run(['dead-letters', ...argv], { services })
    return [code, (out + err).trimEnd()]
  }
  /** An event that cannot be folded, and the decision to leave it out. */
  const addLetter = async (line: string) => {
    await append(stream, [[line]], (await stream.head()) + 1)
    return leaveOut(line)
  }
  /** Of the log's last event. */
  const leaveOut = async (line: string) => {
    const event = (await readAll(stream)).at(-1) as RecordedEvent
    const reason = new PermanentError({ operation: 'fold', subject: line })
    await letters().put(fold, new PoisonError(event, reason))
    return `0/${event.position}`
  }
  beforeEach(() => {
    stream = createMemoryStream({ partition: '0' })
  })

  it('say what was decided where two decide at once: the first counts', async () => {
    const position = await addLetter('a')
    /** Somebody retries it while this one is about to write that it stays out. */
    const slower: Stream = {
      ...stream,
      append: async (...given) => {
        await letters().settle(fold, Number(position.slice(2)), 'retried')
        return stream.append(...given)
      },
    }
    expect(await runOn(slower, 'drop', position)).to.deep.equal([0, 'Nothing has changed: that was decided before.'])
    expect(await states()).to.deep.equal(['retried'])
  })

  it('retry or drop all that are open, of all partitions, with one call', async () => {
    const positions = [await addLetter('a'), await addLetter('b'), await addLetter('c')]
    expect((await runOn(stream, 'drop', String(positions[0])))[0]).to.equal(0)
    expect(await runOn(stream, 'retry', 'all')).to.deep.equal([
      0,
      '2 are folded when their index comes to these decisions (logs).',
    ])
    expect(await states()).to.deep.equal(['dropped', 'retried', 'retried'])
    expect(await runOn(stream, 'drop', 'all')).to.deep.equal([0, 'There are no open dead letters.'])
  })

  it('are also of the index that readers use while an upgrade folds another, which can only be dropped', async () => {
    const before = { name: 'logs', version: fold.version - 1 }
    await append(stream, [['a']])
    const [event] = await readAll(stream)
    const poison = new PoisonError(event as RecordedEvent, new PermanentError({ operation: 'fold', subject: 'a' }))
    await letters().put(before, poison)
    const beat = { index: `logs-v${before.version}-001`, after: 0, position: 4096, head: 4096, at: 0, caughtUpAt: 0 }
    const progress = new Map([['logs', beat]])
    const runBeside = async (...argv: readonly string[]) => {
      const services = {
        ...createServices(progress),
        openLogs: async () => [{ ...stream, close: async () => undefined }],
      }
      return (await run(argv, { services })).out.trimEnd()
    }
    const listed = async () => JSON.parse(await runBeside('dead-letters', 'list', '--json')) as object
    expect(await listed()).to.nested.include({
      'dead_letters[0].version': before.version,
      'dead_letters[0].state': 'open',
    })
    expect(await runBeside('dead-letters', 'list')).to.match(new RegExp(`0/4096 +logs v${before.version} +open`))
    expect(await runBeside('dead-letters', 'show', '4096')).to.match(new RegExp(`^logs v${before.version}: open: `))
    expect(await runBeside('dead-letters', 'retry', 'all')).to.equal('There are no open dead letters.')
    expect(await runBeside('dead-letters', 'retry', '4096')).to.equal('')
    expect(await listed()).to.nested.include({ 'dead_letters[0].state': 'open' })
    await letters().put(fold, poison)
    expect(await runBeside('dead-letters', 'list')).to.match(/0\/4096 +logs v.*\n0\/4096 +logs +open/)
    expect(await runBeside('dead-letters', 'drop', '4096')).to.equal('It stays out (logs).')
    expect((await letters().letters(before)).map(({ state }) => state)).to.deep.equal(['dropped'])
    expect(await states()).to.deep.equal(['dropped'])
  })

  it('leave those out of all whose events the log does not hold any more: they can only be dropped', async () => {
    const [first] = [await addLetter('a'), await addLetter('b')]
    await stream.cut(Number(first.slice(2)))
    expect((await runOn(stream, 'retry', 'all'))[1]).to.match(/^1 is folded .*; 1 is not held by the log any more\.$/)
    expect(await states()).to.deep.equal(['open', 'retried'])
    expect(await runOn(stream, 'drop', 'all')).to.deep.equal([0, '1 stays out (logs).'])
    expect(await states()).to.deep.equal(['dropped', 'retried'])
  })

  it('decide on the one of the partition that is named, and of partition 0 where none is', async () => {
    const second = createMemoryStream({ partition: '1' })
    await addLetter('a')
    const [first, of] = [stream, createDeadLetters({ stream: second, clock: () => 5 })]
    await append(second, [['a']])
    const [event] = await readAll(second)
    await of.put(fold, new PoisonError(event as RecordedEvent, new PermanentError({ operation: 'fold', subject: 'a' })))
    const logs = [first, second].map((log) => ({ ...log, close: async () => undefined }))
    const drop = (name: string) =>
      run(['dead-letters', 'drop', name], { services: { ...createServices(), openLogs: async () => logs } })
    const both = async () => [await states(), (await of.letters(fold)).map(({ state }) => state)]
    expect((await drop('1/4096')).code).to.equal(0)
    expect(await both()).to.deep.equal([['open'], ['dropped']])
    expect((await drop('2/4096')).code).to.equal(1)
    expect(await both()).to.deep.equal([['open'], ['dropped']])
    expect((await drop('4096')).code).to.equal(0)
    expect(await both()).to.deep.equal([['dropped'], ['dropped']])
  })

  it('show what was sent so that it does nothing to a terminal', async () => {
    const said = 'a\u001b]0;b\u0007\u009b2J\r\n\tc'
    await stream.append([makeEvent('a', { payload: Buffer.from(said) })])
    const position = await leaveOut(said)
    const [, text] = await runOn(stream, 'show', position)
    expect(text)
      .to.match(/^logs: open: .*\na\\u001b\]0;b\\u0007\\u009b2J\\u000d\n\tc$/s)
      .and.not.match(/[^\P{Cc}\n\t]/u)
    const [, json = ''] = await runOn(stream, 'show', position, '--json')
    expect(json).to.match(/^\P{Cc}+$/u)
    const { dead_letters: told, payload_base64: bytes } = JSON.parse(String(json)) as Record<string, never>
    expect(Buffer.from(bytes ?? '', 'base64').toString()).to.equal(said)
    expect(JSON.stringify(told)).to.include(JSON.stringify(said).slice(1, -1))
  })

  it('settle one whose event the log does not hold any more: it can be dropped, and is no longer counted, but not retried', async () => {
    const [first] = [await addLetter('a'), await addLetter('b')]
    await stream.cut(Number(first.slice(2)))
    expect((await runOn(stream, 'list'))[1]).to.match(/0\/4096 +logs +open +The log does not hold it any more\.\n/)
    expect(await runOn(stream, 'retry', first)).to.deep.equal([
      1,
      'throughline: The log does not hold it any more. It cannot be folded; "throughline dead-letters drop" accepts that it stays out.',
    ])
    expect(await states()).to.deep.equal(['open', 'open'])
    expect(await runOn(stream, 'drop', first)).to.deep.equal([0, 'It stays out (logs).'])
    expect(await states()).to.deep.equal(['dropped', 'open'])
  })
})
