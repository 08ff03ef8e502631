import type { KeyKind } from '#src/directory/directory.ts'

/** Values for a snippet. The secret is only there while it is shown. */
export type Filled = Readonly<{ baseUrl: string; secret: string; recordsPerBatchMax: number }>

/** One step with its code: a command that installs packages, a file to save, or shell commands. */
export type Step = Readonly<{ text: string }> &
  (
    | Readonly<{ kind: 'text' }>
    | Readonly<{ kind: 'install' | 'shell'; code: string }>
    | Readonly<{ kind: 'file'; file: string; code: string }>
  )

/** How one language or agent sends. */
export type Guide = Readonly<{ id: string; name: string; steps: (filled: Filled) => readonly Step[] }>

/** A kind of telemetry, the key for sending it, and what can send it. */
export type Connection = Readonly<{
  id: 'traces' | 'logs' | 'browser'
  name: string
  keyKind: KeyKind
  /** The noun for the first record: `span`, `log record`. */
  record: string
  guides: readonly Guide[]
}>

export const text = (words: string): Step => ({ kind: 'text', text: words })
export const install = (words: string, code: string): Step => ({ kind: 'install', text: words, code })
export const shell = (words: string, code: string): Step => ({ kind: 'shell', text: words, code })
export const file = (words: string, name: string, code: string): Step => ({
  kind: 'file',
  text: words,
  file: name,
  code,
})
