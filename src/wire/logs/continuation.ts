// Programs print a line with a time, and below it, in lines without one, the trace of an error or the rest of a query.

const forms: readonly string[] = [
  // Indented: Java, Python, Node.js, Go, PostgreSQL
  String.raw`\s`,
  String.raw`Caused by: |Suppressed: |\.\.\. \d`,
  String.raw`Traceback \(most recent call last\):|During handling of the above exception|The above exception was`,
  // PHP
  String.raw`Stack trace:$|#\d{1,4} `,
  String.raw`goroutine \d{1,10} \[`,
  // java.lang.IllegalStateException: closed
  String.raw`(?:[\w$]{1,64}(?:\.|::|\\)){0,16}(?=[A-Z])\w{0,64}(?:Error|Exception)(?::|$)`,
]
const continued = new RegExp(`^(?:${forms.join('|')})`)

/** Whether a line of text goes on with the one before it: it was written with that one, and is of its time. */
export const isContinuation = (line: string): boolean => continued.test(line)
