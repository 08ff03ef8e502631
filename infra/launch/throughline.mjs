#!/usr/bin/env node
// `npx throughline VERB …`: the same launcher, pointed at the command line.
process.argv.splice(2, 0, 'src/main.ts')
await import('./launch.mjs')
