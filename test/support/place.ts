import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { createTill, type Storage, type Till, type TillOptions } from '../../lib/index.ts'
import { raw } from './connections.ts'
import { temporaryFolder } from './folder.ts'
import { openPostgres, rawPostgres } from './postgres.ts'
import { openSqlite } from './sqlite.ts'
import { createClock, createShop, onPostgres, type Shop } from './till.ts'

export type Row = { readonly [column: string]: unknown }

/** A database that several tills use together, as several processes would. */
export interface Place {
  /** The clock of all its tills. */
  readonly clock: ReturnType<typeof createClock>
  /** Opens a storage with its own connections, closed after the test. */
  storage(): Promise<Storage>
  /** Opens a till with its own storage. */
  till(options?: Partial<TillOptions>): Promise<Till>
  /** Creates a shop on a new till. */
  shop(options?: Partial<TillOptions>): Promise<Shop & Pick<Place, 'clock'>>
  readonly isPostgres: boolean
  /** The path or the URL of the database. */
  db(): Promise<string>
  /** Runs SQL on a connection of its own. */
  run(sql: string): Promise<readonly Row[]>
  /** The database file. PostgreSQL has none. */
  readonly path: string
  /** The bytes of the database file and of the files beside it. */
  bytes(): Buffer
}

/** A new SQLite file for a test, or an empty schema in a test that runs on PostgreSQL. */
export function newPlace(t: TestContext): Place {
  const storages: Storage[] = []
  // Hooks run in the order of registration: first this one, then the one that removes the folder.
  t.after(async () => {
    for (const storage of storages) await storage.close().catch(() => {}) // the test has closed it
  })
  const on = onPostgres.getStore()
  const folder = on ? '' : temporaryFolder(t)
  const path = join(folder, 'till.db')
  const url = on?.server.emptySchema(t)
  const clock = createClock()
  const storage = async () => {
    const opened = url ? await openPostgres(t, await url) : await openSqlite(path)
    storages.push(opened)
    return opened
  }
  const till = async (options: Partial<TillOptions> = {}) =>
    createTill({ storage: await storage(), now: clock.now, ...options })
  const shop = async (options?: Partial<TillOptions>) => {
    return { ...(await createShop(await till(options))), clock }
  }
  let client: ReturnType<typeof rawPostgres> | undefined
  const run = async (sql: string): Promise<readonly Row[]> => {
    if (url) {
      client ??= rawPostgres(t, await url)
      return client.unsafe(sql)
    }
    const db = await raw(t, path)
    try {
      if (/^SELECT/.test(sql)) return db.prepare(sql).all() as Row[]
      db.exec(sql)
      return []
    } finally {
      db.close()
    }
  }
  const bytes = () =>
    Buffer.concat(readdirSync(folder).map((name) => readFileSync(join(folder, name))))
  const db = async () => (await url) ?? path
  return { path, bytes, clock, storage, till, shop, run, db, isPostgres: url !== undefined }
}
