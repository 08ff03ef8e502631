import { writeFileSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'
import { bringOnce } from '../../infra/machine/cache.ts'

// Says whether it made the thing itself. Making takes long enough for the others to come.
let outcome = 'found'
await bringOnce('thing', async (making) => {
  outcome = 'made'
  await setTimeout(300)
  writeFileSync(making, 'made')
})
console.log(outcome)
