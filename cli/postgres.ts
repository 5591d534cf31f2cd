// A file of its own, because commands on a SQLite file start sooner without it.
export { openPostgresStorage } from '../lib/index.ts'
