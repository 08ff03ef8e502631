import { lockFolder } from '#streams/sqlite/lock.ts'

/** `hold-lock FOLDER`: locks the data folder, says so, and stays until it is killed. */
const lock = lockFolder(process.argv[2] ?? '')
process.stdout.write('held\n')
process.stdin.resume().once('end', () => lock.release())
