import { StringDecoder } from 'node:string_decoder'
import { randomBase62 } from '#src/directory/keys.ts'
import { UsageError, type CliIo, type VerbContext } from './verb.ts'

/**
 * How long a pipe may stay silent before we take it that nobody writes a password into it: a program that starts us often
 * leaves an open pipe there, and would wait for us for ever. `--password-stdin` waits as long as it takes.
 */
const silenceMs = 1_000
const charactersMax = 8_192
const generatedCharacters = 20

/** The first line of standard input; undefined when it is a terminal, is empty, or (unless `isSure`) stays silent. */
async function readPassword({ stdin }: Pick<CliIo, 'stdin'>, isSure: boolean): Promise<string | undefined> {
  if (stdin.isTTY === true && !isSure) return undefined
  const text = await new Promise<string>((resolve, reject) => {
    let received = ''
    // A part may end within a character.
    const decoder = new StringDecoder()
    const settle = (): void => {
      clearTimeout(timer)
      stdin.off('data', onData).off('end', settle).off('error', reject)
      stdin.pause()
      resolve(received + decoder.end())
    }
    const onData = (chunk: Buffer): void => {
      clearTimeout(timer)
      received += decoder.write(chunk)
      if (received.includes('\n') || received.length > charactersMax) settle()
    }
    const timer = setTimeout(() => (isSure ? undefined : settle()), silenceMs)
    stdin.on('data', onData).on('end', settle).on('error', reject)
  })
  // A pipe left open must not keep the process alive.
  stdin.destroy?.()
  const [line = ''] = text.split(/\r?\n/, 1)
  // Nobody could sign in with it: a browser sends the intended characters.
  if (line.includes('\ufffd')) throw new UsageError('the password on standard input is not UTF-8')
  return line === '' ? undefined : line
}

export type ChosenPassword = Readonly<{ password: string; isGenerated: boolean }>

/** The password of standard input, else a generated one, which is then shown once. */
export async function choosePassword({ io, options, random }: VerbContext): Promise<ChosenPassword> {
  const isSure = options['password-stdin'] === true
  const given = await readPassword(io, isSure)
  if (given !== undefined) return { password: given, isGenerated: false }
  if (isSure) throw new UsageError('--password-stdin: standard input holds no password')
  return { password: randomBase62(random, generatedCharacters), isGenerated: true }
}
