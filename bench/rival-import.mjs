// A simple import: csv-parse piped into better-sqlite3 in one transaction.
// Prints the process's peak memory in MiB.
import { createReadStream } from 'node:fs'
import Database from 'better-sqlite3'
import { parse } from 'csv-parse'
import { COLUMNS } from './files.mjs'

const [db, file] = process.argv.slice(2)
const database = new Database(db)
database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL')
database.exec(
  `CREATE TABLE purchases (${COLUMNS.replace('transaction_id', 'transaction_id PRIMARY KEY')})`,
)
const insert = database.prepare('INSERT INTO purchases VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)')
database.exec('BEGIN')
for await (const row of createReadStream(file).pipe(parse({ from: 2 }))) insert.run(row)
database.exec('COMMIT')
database.close()
console.log(process.resourceUsage().maxRSS / 1024)
