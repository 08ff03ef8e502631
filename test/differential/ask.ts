import { setTimeout } from 'node:timers/promises'
import { parseJson, type JsonObject } from '#src/lib/json.ts'
import { at } from '../support/client.ts'
import { isBehind, plainAnswer, type Moments, type Window } from './plain-answer.ts'
import type { Question } from './questions.ts'
import type { Form } from './two-forms.ts'

/** The log records that both have, by their plain ids: what each of them calls them. */
type RecordNames = ReadonlyMap<string, string>

export type Asked = Readonly<{ form: Form; sending: Window; names: RecordNames }>

/** Headers that say something of the answer. */
const told = [
  'content-type',
  'content-disposition',
  'x-export-matched',
  'x-query-normalized',
  'www-authenticate',
  'allow',
]

/** Clocks of one machine, read around a request; answers round to milliseconds. */
const slackMs = 2

const pollMs = 50

/** An answer: its body, and all that both servers have to say alike. */
export type Answer = Readonly<{ text: string; plain: string }>

async function askOnce({ form, sending }: Asked, target: string, since: number): Promise<Answer> {
  const reader = target.startsWith('/api/v1/') ? form.api : form.session
  const response = await reader.raw(target)
  const text = await response.text()
  const moments: Moments = { sending, asking: { from: since - slackMs, to: Date.now() + slackMs } }
  const headers = told.flatMap((name) => (response.headers.has(name) ? [`${name}: ${response.headers.get(name)}`] : []))
  return { text, plain: plainAnswer([response.status, ...headers, text].join('\n'), moments) }
}

/**
 * An answer of an index that has followed its log; on a busy machine it may say for a moment that it does not know. `since`: when
 * the first page was asked for, whose range the others have.
 */
async function ask(asked: Asked, target: string, since = Date.now()): Promise<Answer> {
  for (;;) {
    const answer = await askOnce(asked, target, since)
    if (!isBehind(answer.text)) return answer
    await setTimeout(pollMs)
  }
}

/** Where the next page begins, whichever part of the answer has more. An export has no pages. */
function nextCursor({ path }: Question, text: string): string | undefined {
  if (path === '/app/logs/export') return undefined
  const body = parseJson(text) as JsonObject
  const parts = [body, ...['trace', 'traces', 'logs', 'rum_events'].map((part) => body[part] as JsonObject | undefined)]
  return parts.map((part) => at(part ?? undefined, 'next_cursor')).find((cursor) => typeof cursor === 'string')
}

export function targetOf({ path, parameters }: Question, names: RecordNames, cursor?: string): string {
  const search = new URLSearchParams()
  for (const [name, value] of parameters) search.append(name, names.get(value) ?? value)
  if (cursor !== undefined) search.append('cursor', cursor)
  return `${path}?${search.toString()}`
}

/** The answers of all pages of a question, at most so many. */
export async function walkAnswers(asked: Asked, question: Question, pagesMax: number): Promise<readonly Answer[]> {
  const pages: Answer[] = []
  const since = Date.now()
  let cursor: string | undefined
  do {
    const answer = await ask(asked, targetOf(question, asked.names, cursor), since)
    pages.push(answer)
    cursor = nextCursor(question, answer.text)
  } while (cursor !== undefined && pages.length < pagesMax)
  return pages
}

const everyLog: Question = { path: '/api/app/logs/search', parameters: [['from', '0001-01-01'], ['limit', '1000']] } // prettier-ignore

/** What this server calls each log record, by the name that both have for it. */
export async function recordNames(form: Form, sending: Window): Promise<RecordNames> {
  const idOf = /"id":"([^"]+)","timestamp"/g
  const asked = { form, sending, names: new Map<string, string>() }
  const names = new Map<string, string>()
  let cursor: string | undefined
  do {
    const { text, plain } = await ask(asked, targetOf(everyLog, asked.names, cursor))
    const plainIds = [...plain.matchAll(idOf)].map(([, id = '']) => id)
    for (const [index, [, id = '']] of [...text.matchAll(idOf)].entries()) names.set(plainIds[index] ?? '', id)
    cursor = nextCursor(everyLog, text)
  } while (cursor !== undefined)
  return names
}

/** A place to follow arrivals from: what a log search gives for it now. */
export async function tailCursor(asked: Asked, question: Question): Promise<string> {
  const { text } = await ask(asked, targetOf(question, asked.names))
  return String((parseJson(text) as JsonObject)['prev_cursor'])
}

/** What has arrived since, page by page until nothing has. */
export async function followTail(asked: Asked, question: Question, from: string): Promise<readonly string[]> {
  const pages: string[] = []
  let cursor = from
  for (;;) {
    const { text, plain } = await ask(asked, targetOf(question, asked.names, cursor))
    pages.push(plain)
    const body = parseJson(text) as JsonObject
    if ((body['logs'] as readonly unknown[] | undefined)?.length === 0) return pages
    cursor = String(body['prev_cursor'])
  }
}
