/** Whether a value of `--db` is the URL of a PostgreSQL database, and not a file. */
export function isPostgres(db: string): boolean {
  return /^postgres(ql)?:\/\//.test(db)
}

/** Whether a database is a file, not a database server or memory. */
export function isFile(db: string): boolean {
  return db !== 'memory:' && !isPostgres(db)
}
