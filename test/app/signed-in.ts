import { expect } from 'chai'
import type { WorkspaceId } from '#src/events/workspace-id.ts'
import type { DecodedEvent } from '#projections/projection.ts'
import { givenLog, givenSpan, noonNs } from '#test/projections/traces/given.ts'
import { givenEvent } from '#test/support/fold-harness.ts'
import { createTestClock, openDirectory } from '../directory/harness.ts'
import { createBrowser, createPerson, openSite, password, type Browser, type Site } from './harness.ts'

const email = 'ann@acme.example'
const noonMs = Number(noonNs / 1_000_000n)

/** The pages as one person sees them, an hour after the noon of the given telemetry. */
export type SignedIn = Readonly<{
  site: Site
  browser: Browser
  workspace: WorkspaceId
  userId: string
  /** The `n`-th event of this workspace, of such log records or spans. */
  logs(n: number, ...records: readonly Parameters<typeof givenLog>[0][]): DecodedEvent
  spans(n: number, ...given: readonly Parameters<typeof givenSpan>[0][]): DecodedEvent
}>

async function signIn(): Promise<SignedIn> {
  const site = await openSite({ opened: await openDirectory({ clock: createTestClock(noonMs + 3_600_000) }) })
  const person = await createPerson(site.directory, email, 'Acme')
  const workspace = person.workspace.id
  const browser = createBrowser(site)
  await browser.post('/app/sign-in', { email, password })
  return {
    site,
    browser,
    workspace,
    userId: person.user.id,
    logs: (n, ...records) => {
      const logs = records.map((record, ordinal) => givenLog({ ...record, ordinal }))
      return givenEvent('logs.received', n, { logs }, { workspace })
    },
    spans: (n, ...given) => givenEvent('spans.received', n, { spans: given.map(givenSpan) }, { workspace }),
  }
}

/** Signs somebody in before each test of a suite, who has met no failure after it. `use` gets what the test works with. */
export function eachSignedIn(use: (signedIn: SignedIn) => void): void {
  let site: Site
  beforeEach(async () => {
    const signedIn = await signIn()
    site = signedIn.site
    use(signedIn)
  })
  afterEach(async () => {
    await site.close()
    expect(site.failures).to.deep.equal([])
  })
}
