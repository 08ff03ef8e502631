import { parseArgs, type ParseArgsOptionsConfig } from 'node:util'
import { nearest } from '#src/lib/nearest.ts'
import { UsageError, type Given, type Verb } from './verb.ts'

/** Options that every verb has. */
const common: ParseArgsOptionsConfig = {
  data: { type: 'string' },
  json: { type: 'boolean' },
}

/** Refuses an option that is given twice, such as `--confirm a --confirm b`: one of the values would be ignored silently. */
function refuseRepeated(tokens: readonly Readonly<{ kind: string; name?: string }>[], options: ParseArgsOptionsConfig) {
  const seen = new Set<string>()
  for (const { kind, name } of tokens) {
    if (kind !== 'option' || name === undefined) continue
    const option = options[name]
    if (option?.type !== 'string' || option.multiple === true) continue
    if (seen.has(name)) throw new UsageError(`--${name} is given twice; it takes one value`)
    seen.add(name)
  }
}

const needsValue = (option: string, isLast: boolean): string =>
  `${option} needs a value${isLast ? '' : `; one that begins with a dash is written ${option}=-…`}`

/** Refuses what is not UTF-8: Node replaces it by one sign, so that two names or passwords could become equal. */
function refuseBroken(argv: readonly string[]): void {
  const broken = argv.find((word) => word.includes('\ufffd'))
  if (broken !== undefined) throw new UsageError(`${JSON.stringify(broken)} is not UTF-8: write it in a UTF-8 locale`)
}

/** Says what is wrong with the words, instead of Node's message. */
function explainWords(message: string, known: readonly string[]): string {
  const bare = /^Option '(?:-\w, )?(--[\w-]+)(?: <value>)?' argument (missing|is ambiguous)/.exec(message)
  if (bare !== null) return needsValue(bare[1] ?? '', bare[2] === 'missing')
  const name = /^Unknown option '(--[^']*)'/.exec(message)?.[1]
  if (name === undefined) return message.split('\n', 1)[0] ?? ''
  const meant = nearest(name, known)
  return `there is no option ${name}${meant === undefined ? '' : `; did you mean ${meant}?`}`
}

/** The words behind a verb. Throws UsageError. */
export function parseGiven(verb: Verb, argv: readonly string[]): Given {
  const options = { ...common, ...verb.options }
  try {
    refuseBroken(argv)
    const config = { args: [...argv], options, allowPositionals: true, strict: true, tokens: true } as const
    const { values, positionals, tokens } = parseArgs(config)
    refuseRepeated(tokens, options)
    const { names = [] } = verb
    if (positionals.length < names.length) throw new UsageError(`${names[positionals.length] ?? ''} is missing`)
    const extra = positionals[names.length]
    if (extra !== undefined) throw new UsageError(`${JSON.stringify(extra)} is one argument too many`)
    return { names: positionals, options: values }
  } catch (error) {
    if (error instanceof UsageError) throw error
    const known = Object.keys(options).map((name) => `--${name}`)
    throw new UsageError(explainWords(error instanceof Error ? error.message : String(error), known))
  }
}
