import { TillError } from '../../errors.ts'
import { newestVersion, stepsFrom } from '../sql/upgrade.ts'
import { type Connection, type Database, LONG_MS } from './connection.ts'
import type { PostgresOptions } from './options.ts'
import { SCHEMA } from './schema.ts'

/** An arbitrary number for the lock of all upgrades: the letters "till". */
const LOCK = 0x74696c6c

/**
 * Creates the schema, or upgrades it to the newest version. If many servers start at once, only one
 * of them does. Throws for a schema that this tillkit cannot or may not use.
 */
export async function upgrade(
  db: Database,
  allowed: Pick<PostgresOptions, 'create' | 'upgrade'>,
): Promise<void> {
  if (stepsFrom(await versionOf(db), SCHEMA, allowed).length === 0) return
  await db.transaction(async (tx) => {
    await tx.run('SELECT pg_advisory_xact_lock($1)', LOCK)
    const version = await versionOf(tx)
    if (version === 0) await assertEncoding(tx)
    const steps = stepsFrom(version, SCHEMA, allowed)
    if (steps.length === 0) return
    for (const step of steps) await tx.exec(step)
    const newest = newestVersion(SCHEMA)
    await tx.run('INSERT INTO tillkit_migrations (version) VALUES ($1)', newest)
  }, LONG_MS)
}

/** The version of the schema; 0 for a database without tillkit's tables. */
async function versionOf(on: Connection): Promise<number> {
  // Does not use to_regclass: after the wait for the lock, it may return an outdated result.
  const table = await on.find(
    `SELECT 1 FROM pg_tables
     WHERE schemaname = current_schema() AND tablename = 'tillkit_migrations'`,
  )
  if (!table) return 0
  const row = await on.find('SELECT max(version) AS version FROM tillkit_migrations')
  return row?.version as number
}

async function assertEncoding(on: Connection): Promise<void> {
  const row = await on.find("SELECT current_setting('server_encoding') AS encoding")
  if (row?.encoding === 'UTF8') return
  const reason = `its encoding is ${row?.encoding}, which cannot keep all text`
  throw new TillError('storage_unavailable', `${reason}: create it with ENCODING 'UTF8'`)
}
