import { expect } from 'chai'
import { limits } from '#src/config.ts'
import { inOwnForms } from '#src/query/language/other-forms.ts'
import { parseQuery } from '#src/query/language/parse-query.ts'

/** What is typed elsewhere, the same here, and whether a search for what is typed warns of it. */
const table: readonly (readonly [typed: string, here: string, warns?: 'warns'])[] = [
  ['level IN (error, warn)', 'level=(error OR warn)', 'warns'],
  ['a (level NOT IN (\'a b\', "or"))', 'a (-level=("a b" OR "or"))', 'warns'],
  ["level in ('error')", 'level=error', 'warns'],
  ['level in [error, warn]', 'level=(error OR warn)'],
  ['level:[error, warn]', 'level=(error OR warn)'],
  ['level:error|warn x', 'level=(error OR warn) x'],
  ["path LIKE '/api/%'", 'path:\\/api\\/*', 'warns'],
  ["path NOT LIKE '/api'", '-path="/api"', 'warns'],
  ['path ilike "%api%"', 'path:*api*'],
  ['f BETWEEN 1 AND 1.5s', 'f:[1 TO 1.5s]', 'warns'],
  ['f IS NULL', '-f:*', 'warns'],
  ['f IS NOT NULL OR x', 'f:* OR x', 'warns'],
  ['f:1..100', 'f:[1 TO 100]', 'warns'],
  ['f:(1 TO 100)', 'f:[1 TO 100]', 'warns'],
  ['f:[1..100]', 'f:[1 TO 100]'],
  ['f:[1,100]', 'f:[1 TO 100]'],
  ['f:>1 AND <=100', 'f>1 AND f<=100', 'warns'],
  ['f=>400', 'f>=400', 'warns'],
  ['f=<400', 'f<=400', 'warns'],
  ['f =< 400 x', 'f<=400 x', 'warns'],
  ['f:=>400', 'f>=400', 'warns'],
  ['NOT "a b"~5', 'NOT (a b)', 'warns'],
  ['timeout~2 OR f:x^4', 'timeout OR f:x'],
  ['f=~"a.*b/c"', 'f:/a.*b\\/c/'],
  ['f !~ /x/', '-f:/x/'],
  ['f:~"a b" f:!~c', 'f:"a b" -f:*c*'],
  ['f~pay', 'f:*pay*'],
  ['f CONTAINS "a-b"', 'f:*a\\-b*', 'warns'],
  ['f startswith "x"', 'f:x*'],
  ["f = 'a b' AND g > 3", 'f="a b" AND g > 3'],
  ["f <> 'x'", 'f!="x"'],
  ['has:f -exists:"g" _missing_:h', 'f:* -g:* -h:*'],
  ['index=main error | stats count by f', 'error'],
  ['logs | where f == "x|y" | take 5', 'f == "x|y"'],
  ['| filter f = "x"', 'f = "x"'],
  ['span:duration>1s', 'duration>1s', 'warns'],
  ['trace:rootService = "a b"', 'service = "a b"', 'warns'],
  ['(-trace:id=ab12 || event:name != x)', '(-trace_id=ab12 || event.name != x)', 'warns'],
  ["SELECT * FROM logs WHERE f = 'x'", 'f="x"'],
]

/** What these are not: texts, and searches as they are written here. */
const passedOver = [
  'user is null',
  '"level IN (error, warn)" x',
  'failed within (foo)',
  'f:[1 TO 100] f:{a TO b] level:[info TO warn] f:>1',
  'x=>y a<b ~/x f:~/x "a" b',
  'a | b',
  'a || b',
  '{ .a = 1 } | count() > 2',
  'f:(a OR b) f:/a|b/ -f:x',
]

describe('query/language: forms of other languages', () => {
  for (const [typed, here, warns] of table) {
    it(typed, () => {
      expect(inOwnForms(typed)).to.equal(here)
      expect(inOwnForms(here)).to.equal(here)
      const meant = parseQuery(here, limits)
      expect(meant.ok && meant.value.warnings).to.deep.equal([])
      const parsed = parseQuery(typed, limits)
      const warnings = parsed.ok ? parsed.value.warnings.filter((each) => each.includes('is no condition here')) : []
      expect(warnings.length > 0).to.equal(warns !== undefined)
    })
  }

  it('are not seen in texts, nor in what is written as here', () => {
    for (const typed of passedOver) {
      expect(inOwnForms(typed), typed).to.equal(typed)
      const parsed = parseQuery(typed, limits)
      if (parsed.ok) expect(parsed.value.warnings.join(), typed).to.not.include('is no condition here')
    }
  })
})
