import { joinFolder } from '#streams/sqlite/lock.ts'

/** `join-folder FOLDER`: takes part in the data folder, says so, and stays until it is killed. */
const lock = joinFolder(process.argv[2] ?? '')
process.stdout.write('joined\n')
process.stdin.resume().once('end', () => lock.release())
