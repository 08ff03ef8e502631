import { setTimeout } from 'node:timers/promises'
import { startNats } from '../../infra/engines/nats.ts'

// Starts a server, says where, and lives until it is killed.
console.log((await startNats()).url)
await setTimeout(1 << 30)
