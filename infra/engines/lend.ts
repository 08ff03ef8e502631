import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/** Starts an engine; its address. */
type Bring = () => Promise<string>

/** Of whoever lends engines to the processes of a test run, who find it by this variable. */
const lenderVariable = 'ENGINES_LENDER'

/**
 * Lends engines to all processes that are started from now on: each engine is started when the first of them asks for it, and is gone with
 * us. The variable that they need.
 */
export async function lendEngines(brings: Readonly<Record<string, Bring>>): Promise<Readonly<Record<string, string>>> {
  const brought = new Map<string, Promise<string>>()
  const bring = (name: string): Promise<string> => {
    const found = brought.get(name) ?? brings[name]?.() ?? Promise.reject(new Error(`nobody lends ${name}`))
    brought.set(name, found)
    return found
  }
  const server = createServer((request, response) => {
    bring((request.url ?? '').slice(1)).then(
      (url) => response.end(url),
      (failure: unknown) => response.writeHead(500).end(failure instanceof Error ? failure.message : String(failure)),
    )
  })
  server.listen(0, '127.0.0.1')
  server.unref()
  await once(server, 'listening')
  return { [lenderVariable]: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
}

/** The address of a lent engine; undefined where nobody lends any. */
export async function borrowEngine(
  name: string,
  { [lenderVariable]: lender }: NodeJS.ProcessEnv = process.env,
): Promise<string | undefined> {
  if (lender === undefined) return undefined
  const answer = await fetch(`${lender}/${name}`)
  const text = await answer.text()
  if (answer.ok) return text
  throw new Error(text)
}
