import { randomBytes } from 'node:crypto'
import { PassThrough } from 'node:stream'
import { mock } from 'node:test'
import { expect } from 'chai'
import { choosePassword, type ChosenPassword } from '#src/cli/read-password.ts'
import { UsageError, type VerbContext } from '#src/cli/verb.ts'

/** As long as nobody waits. */
const hourMs = 3_600_000

describe('a password on standard input', () => {
  let stdin: PassThrough & { isTTY?: boolean }
  beforeEach(() => {
    stdin = new PassThrough()
    mock.timers.enable({ apis: ['setTimeout'] })
  })
  afterEach(() => mock.timers.reset())

  const choose = (options: Readonly<Record<string, boolean>> = {}): Promise<ChosenPassword> =>
    choosePassword({ io: { stdin }, options, random: randomBytes } as unknown as VerbContext)
  const chooseSurely = () => choose({ 'password-stdin': true })
  const failureOf = (chosen: Promise<unknown>): Promise<unknown> => chosen.catch((error: unknown) => error)
  /** Writes, and until that has been read. */
  const send = (part: string | Buffer): Promise<void> =>
    new Promise((resolve) => {
      stdin.once('data', () => resolve())
      stdin.write(part)
    })

  it('is its first line, however that ends', async () => {
    for (const [text, password] of [
      ['from the pipe\nand more\n', 'from the pipe'],
      ['from windows\r\nand more\r\n', 'from windows'],
      [' blanks \t belong to it \n', ' blanks \t belong to it '],
      ['no line at all', 'no line at all'],
    ] as const) {
      stdin = new PassThrough()
      stdin.end(text)
      expect(await choose()).to.deep.equal({ password, isGenerated: false })
    }
  })

  it('is taken when its line is whole, from a pipe that stays open and is let go', async () => {
    const chosen = choose()
    await send('from the pipe\n')
    expect(await chosen).to.deep.equal({ password: 'from the pipe', isGenerated: false })
    expect(stdin.destroyed).to.equal(true)
  })

  it('may come in parts, with as much time between as it takes, also within a character', async () => {
    for (const ask of [choose, chooseSurely]) {
      stdin = new PassThrough()
      const chosen = ask()
      for (const byte of Buffer.from('pässwörd 支付\n')) {
        await send(Buffer.of(byte))
        mock.timers.tick(hourMs)
      }
      expect((await chosen).password).to.equal('pässwörd 支付')
    }
  })

  it('is waited for where it is said to be there', async () => {
    const chosen = chooseSurely()
    mock.timers.tick(hourMs)
    stdin.end('from a slow one\n')
    expect(await chosen).to.deep.equal({ password: 'from a slow one', isGenerated: false })
  })

  it('is generated where the pipe stays silent, or has an empty line, and at a terminal', async () => {
    const isGenerated = async (chosen: Promise<ChosenPassword>): Promise<void> => {
      const { password, ...rest } = await chosen
      expect(rest).to.deep.equal({ isGenerated: true })
      expect(password).to.match(/^[0-9A-Za-z]{20}$/)
    }
    const silent = choose()
    mock.timers.tick(hourMs)
    await isGenerated(silent)
    for (const text of ['', '\n', '\nnot the first line\n']) {
      stdin = new PassThrough()
      stdin.end(text)
      await isGenerated(choose())
    }
    stdin = Object.assign(new PassThrough(), { isTTY: true })
    stdin.end('what is typed for the next command\n')
    await isGenerated(choose())
  })

  it('is read at a terminal where that is asked for', async () => {
    stdin = Object.assign(new PassThrough(), { isTTY: true })
    stdin.end('typed by hand\n')
    expect(await chooseSurely()).to.deep.equal({ password: 'typed by hand', isGenerated: false })
  })

  it('is refused where it ends within a character, or is not UTF-8: no browser would send the same', async () => {
    for (const bytes of [Buffer.from('ends in ü').subarray(0, -1), Buffer.from('caf\xe9 caf\xe9', 'latin1')]) {
      stdin = new PassThrough()
      stdin.end(bytes)
      expect(await failureOf(choose())).to.be.instanceOf(UsageError)
    }
  })

  it('is missed where it is said to be there', async () => {
    stdin.end('\n')
    expect(await failureOf(chooseSurely())).to.be.instanceOf(UsageError)
  })

  it('may be long, and is no longer looked for the end of when no password is so long', async () => {
    const long = 'x'.repeat(2_048)
    const whole = choose()
    await send(long)
    await send('\n')
    expect((await whole).password).to.equal(long)
    stdin = new PassThrough()
    const endless = chooseSurely()
    for (let part = 0; part < 5; part++) await send(long)
    expect((await endless).password).to.have.length.above(8_000)
  })

  it('cannot be had where reading fails', async () => {
    const chosen = failureOf(choose())
    const failure = new Error('the terminal is gone')
    stdin.destroy(failure)
    expect(await chosen).to.equal(failure)
  })
})
