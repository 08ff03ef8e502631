import { copyFileSync, rmSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'

/**
 * Leaves an SQLite file as a killed process leaves it in the middle of its first transaction: in rollback mode, with a journal
 * that whoever opens it next has to roll back, to an empty file.
 */
export function leaveHotJournal(file: string): void {
  const model = `${file}.model`
  const database = new DatabaseSync(model)
  database.exec('PRAGMA journal_mode = DELETE; PRAGMA cache_size = 2; BEGIN; CREATE TABLE filler (x)')
  for (let row = 0; row < 50; row++) database.exec('INSERT INTO filler VALUES (randomblob(3000))')
  database.exec('UPDATE filler SET x = 2')
  copyFileSync(model, file)
  copyFileSync(`${model}-journal`, `${file}-journal`)
  database.exec('ROLLBACK')
  database.close()
  rmSync(model)
}
