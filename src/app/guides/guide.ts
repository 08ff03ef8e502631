import type { KeyKind } from '#src/directory/directory.ts'

/** What a snippet is filled in with. The secret is there only while it is shown. */
export type Filled = Readonly<{ baseUrl: string; secret: string; recordsPerBatchMax: number }>

/** One thing to do, with its code: a command that brings packages, a file to save, or lines for a shell. */
export type Step = Readonly<{ text: string }> &
  (
    | Readonly<{ kind: 'text' }>
    | Readonly<{ kind: 'install' | 'shell'; code: string }>
    | Readonly<{ kind: 'file'; file: string; code: string }>
  )

/** How one language or agent sends. */
export type Guide = Readonly<{ id: string; name: string; steps: (filled: Filled) => readonly Step[] }>

/** A kind of telemetry, the key that it is sent with, and who can send it. */
export type Connection = Readonly<{
  id: 'traces' | 'logs' | 'browser'
  name: string
  keyKind: KeyKind
  /** What arrives first, in a sentence: `span`, `log record`. */
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
