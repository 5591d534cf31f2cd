import { createHash } from 'node:crypto'
import { ITEM } from '../../domain/item.ts'
import type { Store } from '../../domain/store.ts'
import { TillError } from '../../errors.ts'
import { lockAuthority, lockOf, lockRows, verifyAuthority } from './authority.ts'
import { type Row, text } from './columns.ts'
import type { Sql } from './dialect.ts'
import { newChange } from './items.ts'
import { find, insert, type Program, run, some } from './program.ts'
import { FIND_PROJECT, UPDATE_PROJECT } from './projects.ts'
import { assertQuota } from './quota.ts'
import type { CatalogChanges, WriteOptions } from './records.ts'
import {
  AUDIT,
  ITEM_CHANGES,
  ITEM_ROWS,
  PROJECT_CHANGES,
  PROJECTS,
  STORE_CHANGES,
  STORES,
} from './tables.ts'
import { recordWrite, shareOf } from './write.ts'

export function catalogMethods(sql: Sql) {
  const { read, write } = sql
  const updateItems = `
    UPDATE items AS i SET ${ITEM_CHANGES.assignments(changedValue)}
    FROM ${sql.rows({ id: text(), ...ITEM_CHANGES.columns })} c
    WHERE i.id = c.id AND i.version = c.version - 1`

  return {
    /**
     * A digest of a project with its stores and all items, even archived ones. Every change of one of
     * these records changes the digest. Resolves to undefined when there is no such project.
     */
    findCatalogState: (project_id: string) => read(findCatalogState(project_id)),
    /**
     * Writes all changes and their audit entries in one transaction. Throws `catalog_changed`, and
     * writes nothing, if the digest of the catalog is no longer `state`, or if a new name is taken.
     */
    async applyCatalog(
      { project_id, state, project, ...changes }: CatalogChanges,
      options: WriteOptions = {},
    ) {
      function* apply(): Program<void> {
        const locks = [
          ...(project ? [lockOf.project(project_id)] : []),
          ...changes.stores.map(lockOf.store),
        ]
        yield* lockAuthority(sql, options.authority, ...locks)
        const current = yield* find(FIND_PROJECT + sql.forUpdate, project_id)
        yield* lockRows(sql, STORES_OF_PROJECT, project_id)
        yield* verifyAuthority(sql, options.authority)
        if (!current || (yield* stateOf(current)) !== state) throw catalogChanged()
        if (project) yield* run(UPDATE_PROJECT, ...PROJECT_CHANGES.values(project), project_id)
        for (const store of changes.newStores) {
          if ((yield* insert(STORES, store)) === 0) throw catalogChanged()
        }
        for (const store of changes.stores) {
          const { account_id, store_id } = store
          yield* run(UPDATE_STORE, ...STORE_CHANGES.values(store as Store), account_id, store_id)
        }
        for (const items of batchesOf(changes.newItems)) {
          if ((yield* sql.insertAll(ITEM_ROWS, items)) < items.length) throw catalogChanged()
        }
        for (const items of batchesOf(changes.items)) {
          const changed = newChange()
          const rows = items.map((item) => ({ ...item, changed }))
          if ((yield* run(updateItems, rows)) < items.length) throw catalogChanged()
        }
        for (const entries of batchesOf(changes.entries)) yield* sql.insertAll(AUDIT, entries)
        yield* assertQuota(options.quota)
        yield* recordWrite(sql, options)
      }

      return write(apply, { ...shareOf(options), isAlone: true })
    },
  }
}

// A field that is left out keeps its value. None of these columns can become NULL.
const UPDATE_STORE = `
  UPDATE stores SET ${STORE_CHANGES.assignments((name) => `coalesce(?, ${name})`)}
  WHERE account_id = ? AND store_id = ?`

/** The SQL of a changed item's column. A field that is left out keeps its value. None can be NULL. */
function changedValue(column: string): string {
  return column in ITEM ? `coalesce(c.${column}, i.${column})` : `c.${column}`
}

const STORE_COLUMNS = STORES.names
  .map((name) => (name === 'store_config' ? `CAST(s.${name} AS text) AS ${name}` : `s.${name}`))
  .join(', ')

// The query summarizes the items of a store by four values. Each change of an item alters one of
// them: items are never deleted, and each update increases `version`.
const STATE_OF_STORES = `
  SELECT ${STORE_COLUMNS}, i.items, i.newest, i.versions, i.latest
  FROM stores s LEFT JOIN (
    SELECT store, count(*) AS items, max(id) AS newest, sum(version) AS versions,
      max(changed) AS latest
    FROM items WHERE store IN (SELECT seq FROM stores WHERE project_id = ?) GROUP BY store
  ) i ON i.store = s.seq
  WHERE s.project_id = ? ORDER BY s.seq`

// A concurrent `updateStore` waits for this lock until the commit. A concurrent change of an item
// does not wait. The statements for items detect it, because they compare versions and names.
const STORES_OF_PROJECT = 'SELECT 1 FROM stores WHERE project_id = ? ORDER BY seq'

/**
 * A digest of a project with its stores and items. The configurations of stores stay text: parsed
 * JSON takes up to 24 times as much memory, and quoting 16 MiB of text took 50 ms.
 */
function* stateOf(project: Row): Program<string> {
  const digest = (stores: Iterable<Row>) => {
    const hash = createHash('sha256').update(JSON.stringify(PROJECTS.read(project)))
    for (const { store_config, ...store } of stores) {
      hash.update(JSON.stringify(store)).update(store_config as string)
    }
    return hash.digest('hex')
  }
  return yield* some(digest, STATE_OF_STORES, project.id as string, project.id as string)
}

function* findCatalogState(project_id: string): Program<string | undefined> {
  const project = yield* find(FIND_PROJECT, project_id)
  return project && (yield* stateOf(project))
}

/** The error for applying a plan to a catalog that has changed since the plan was made. */
function catalogChanged(): TillError {
  return new TillError('catalog_changed', 'The catalog changed meanwhile: make a new plan')
}

/** The number of items in a statement. An item may have 64 KiB of metadata. */
const BATCH = 200

function* batchesOf<T>(records: readonly T[]): Generator<readonly T[]> {
  for (let i = 0; i < records.length; i += BATCH) yield records.slice(i, i + BATCH)
}
