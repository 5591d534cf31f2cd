import { TillError } from '../../errors.ts'
import type { Connection, Database } from './connection.ts'
import { MIGRATIONS } from './schema.ts'

/** An arbitrary number for the lock of all migrations: the letters "till". */
const LOCK = 0x74696c6c
const TIMEOUT_MS = 10 * 60_000

/** Migrates the schema to the newest version. If many servers start at once, only one migrates. */
export async function migrate(db: Database): Promise<void> {
  if ((await versionOf(db)) === MIGRATIONS.length) return
  await db.transaction(
    async (tx) => {
      await tx.run('SELECT pg_advisory_xact_lock($1)', LOCK)
      const version = await versionOf(tx)
      if (version === 0) await assertEncoding(tx)
      for (const [index, step] of MIGRATIONS.slice(version).entries()) {
        await tx.exec(step)
        await tx.run('INSERT INTO tillkit_migrations (version) VALUES ($1)', version + index + 1)
      }
    },
    { timeout: TIMEOUT_MS },
  )
}

/** The number of migrations applied to the schema. Throws if a newer tillkit has migrated it. */
async function versionOf(on: Connection): Promise<number> {
  // Does not use to_regclass: after the wait for the lock, it may return an outdated result.
  const table = await on.find(
    `SELECT 1 FROM pg_tables
     WHERE schemaname = current_schema() AND tablename = 'tillkit_migrations'`,
  )
  if (!table) return 0
  const row = await on.find('SELECT max(version) AS version FROM tillkit_migrations')
  const version = row?.version as number
  if (version > MIGRATIONS.length) {
    const found = `its schema is version ${version}, this tillkit knows ${MIGRATIONS.length}`
    throw new TillError('storage_unavailable', `${found}: use the newer tillkit that wrote it`)
  }
  return version
}

async function assertEncoding(on: Connection): Promise<void> {
  const row = await on.find("SELECT current_setting('server_encoding') AS encoding")
  if (row?.encoding === 'UTF8') return
  const reason = `its encoding is ${row?.encoding}, which can not keep all text`
  throw new TillError('storage_unavailable', `${reason}: create it with ENCODING 'UTF8'`)
}
