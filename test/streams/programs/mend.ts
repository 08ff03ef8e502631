import { mendLog } from '#streams/sqlite/mending/mend.ts'

// Mends a log as a server's start does: FILE QUARANTINE. Prints what became of it.

const [file = '', quarantine = ''] = process.argv.slice(2)
try {
  const options = { file, partition: '0', name: 'log', quarantine, clock: Date.now, isInUse: true }
  const { mended } = await mendLog(options)
  console.log(`kept ${mended?.report?.kept}`)
} catch (error) {
  console.log(`refused ${error instanceof Error ? `${error.name} ${error.message}` : ''}`)
}
