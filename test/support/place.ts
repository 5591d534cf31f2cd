import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { createTill, type Till, type TillOptions } from '../../lib/index.ts'
import { temporaryFolder } from './folder.ts'
import { openSqlite } from './sqlite.ts'
import { createClock, createShop, type Shop } from './till.ts'

/** A database file that several tills use together, as several processes would. */
export interface Place {
  /** The clock of all its tills. */
  readonly clock: ReturnType<typeof createClock>
  /** Opens a till with its own connection, closed after the test. */
  till(options?: Partial<TillOptions>): Promise<Till>
  /** Creates a shop on a new till. */
  shop(options?: Partial<TillOptions>): Promise<Shop & Pick<Place, 'clock'>>
  /** The database file. */
  readonly path: string
  /** The bytes of the database file and of the files beside it. */
  bytes(): Buffer
}

/** A new SQLite file for a test. */
export function newPlace(t: TestContext): Place {
  const tills: Till[] = []
  // Hooks run in the order of registration: first this one, then the one that removes the folder.
  t.after(async () => {
    for (const till of tills) await till.close().catch(() => {}) // the test has closed it
  })
  const folder = temporaryFolder(t)
  const path = join(folder, 'till.db')
  const clock = createClock()
  const till = async (options: Partial<TillOptions> = {}) => {
    const opened = createTill({
      storage: await openSqlite(path),
      now: clock.now,
      ...options,
    })
    tills.push(opened)
    return opened
  }
  const shop = async (options?: Partial<TillOptions>) => {
    return { ...(await createShop(await till(options))), clock }
  }
  const bytes = () =>
    Buffer.concat(readdirSync(folder).map((name) => readFileSync(join(folder, name))))
  return { path, bytes, clock, till, shop }
}
