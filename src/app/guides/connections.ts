import { browserConnection } from './browser.ts'
import type { Connection } from './guide.ts'
import { logConnection } from './logs.ts'
import { traceConnection } from './traces.ts'

/** All connections in the order of the page. */
export const connections: readonly Connection[] = [traceConnection, logConnection, browserConnection]
