import { expect } from 'chai'
import { enginesTimeoutMs } from '../support/engines.ts'
import { followTail, recordNames, tailCursor, targetOf, walkAnswers, type Asked } from './ask.ts'
import { contradictionIn } from './contradictions.ts'
import { makeQuestions, type Question } from './questions.ts'
import { makeTelemetry, type Sent } from './telemetry.ts'
import { startBothForms, type Form } from './two-forms.ts'

// The same telemetry to the embedded form and to the cluster, and the same questions to both: their answers are equal byte for byte,
// but for when something arrived and where the log has it. `SEED=7` repeats one seed, `SOAK=1` takes many.

const soaks = process.env['SOAK'] === '1'
const seeds =
  process.env['SEED'] !== undefined
    ? [Number(process.env['SEED'])]
    : soaks
      ? Array.from({ length: 8 }, (_, n) => n + 1)
      : [1]
const questionsCount = soaks ? 800 : 240
const shownMax = 6

type Both<T> = readonly [embedded: T, cluster: T]
const both = async <A, B>([a, b]: Both<A>, use: (each: A) => Promise<B>): Promise<Both<B>> =>
  Promise.all([use(a), use(b)])

/** The place where two texts part, with what is around it. */
function difference([embedded, cluster]: Both<string>): string {
  let at = 0
  while (at < embedded.length && embedded[at] === cluster[at]) at++
  const around = (text: string): string => text.slice(Math.max(0, at - 300), at + 500)
  return `from character ${at} on\n  embedded: …${around(embedded)}…\n  cluster:  …${around(cluster)}…`
}

const tails: readonly Question[] = ['', 'order', '-level:info', 'service:*', '支付 OR timeout'].map((q, number) => ({
  path: '/api/app/logs/search',
  parameters: [['q', q], ['from', '1970-01-01'], ['limit', '30'], ['order', number % 2 === 0 ? 'desc' : 'asc']], // prettier-ignore
}))

/** Few pages of those that would be hundreds; all of the others. */
const pagesMax = ({ parameters }: Question): number =>
  parameters.some(([name, value]) => name === 'limit' && ['1', '7'].includes(value)) ? 12 : 200

const foundSomething = (answer: string): boolean => answer.startsWith('200\n') && /"(?:timestamp|start)":"/.test(answer)

for (const seed of seeds) {
  describe(`both forms of the server, over telemetry and questions of seed ${seed}`, function () {
    this.timeout(soaks ? 1_200_000 : 300_000)
    let forms: Both<Form>
    const sending = { from: 0, to: 0 }
    const differences: string[] = []
    const compare = (what: string, answers: Both<string>): void => {
      if (answers[0] !== answers[1]) differences.push(`seed ${seed}: ${what}\n${difference(answers)}`)
    }
    const expectNone = (): void => {
      const found = differences.splice(0)
      const shown = found.slice(0, shownMax).join('\n\n')
      expect(found.length, `${found.length} answers differ\n${shown}\n`).to.equal(0)
    }
    const asking = (form: Form): Asked => ({ form, sending, names: new Map<string, string>() })

    /** One by one, each in a millisecond of its own: what has no time of its own lies in the order in which it came. */
    async function send(requests: readonly Sent[]): Promise<void> {
      for (const [number, request] of requests.entries()) {
        const sent = await both(forms, (form) => form.send(request))
        compare(`request ${number} to ${request.path}`, [sent[0].answer, sent[1].answer])
        expect(sent[0].position > 0, `request ${number} is stored`).to.equal(sent[1].position > 0)
        const at = Date.now()
        while (Date.now() <= at) await new Promise(setImmediate)
      }
      await both(forms, (form) => form.settled())
      sending.to = Date.now()
    }

    before(async function () {
      this.timeout(enginesTimeoutMs)
      forms = await startBothForms()
      sending.from = Date.now()
    })
    after(() => both(forms, (form) => form.stop()))

    it('take it in and answer its senders alike, and show arrivals in one order', async () => {
      const telemetry = makeTelemetry(seed)
      const half = telemetry.length >> 1
      await send(telemetry.slice(0, half))
      const places = await both(forms, async (form) => {
        const cursors: string[] = []
        for (const question of tails) cursors.push(await tailCursor(asking(form), question))
        return { form, cursors }
      })
      await send(telemetry.slice(half))
      for (const [number, question] of tails.entries()) {
        const pages = await both(places, ({ form, cursors }) =>
          followTail(asking(form), question, cursors[number] ?? ''),
        )
        compare(`arrivals of ${targetOf(question, new Map())}`, [pages[0].join('\n'), pages[1].join('\n')])
      }
      expectNone()
    })

    it(`answer ${questionsCount} questions alike, page by page`, async () => {
      const asked = await both(forms, async (form) => ({ form, sending, names: await recordNames(form, sending) }))
      const ids = [...asked[0].names.keys()]
      expect(ids).to.have.length.above(300)
      let found = 0
      for (const question of makeQuestions(seed, questionsCount, ids)) {
        const pages = await both(asked, (each) => walkAnswers(each, question, pagesMax(question)))
        if (foundSomething(pages[0][0]?.plain ?? '')) found++
        for (let page = 0; page < Math.max(pages[0].length, pages[1].length); page++) {
          const answers = [pages[0][page]?.plain ?? '', pages[1][page]?.plain ?? ''] as const
          compare(`page ${page} of ${targetOf(question, new Map())}`, answers)
          if (answers[0] !== answers[1]) break
        }
        const contradiction = contradictionIn(question, pages[0])
        if (contradiction !== undefined)
          differences.push(`seed ${seed}: ${targetOf(question, new Map())}: ${contradiction}`)
      }
      expectNone()
      expect(found, 'questions that found something').to.be.above(questionsCount / 3)
    })
  })
}
