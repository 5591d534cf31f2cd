import { setImmediate } from 'node:timers/promises'
import type { Pause } from '../../sql/cleanup.ts'
import type { Row } from '../../sql/columns.ts'
import { find, type Program, run } from '../../sql/program.ts'
import {
  bitOf,
  CHANGE_COLUMNS,
  columnAfter,
  type PurchaseChange,
  settingAll,
  valuesOf,
} from '../../sql/purchases/fills.ts'
import type { Connection } from '../connection.ts'
import { execute } from '../sql.ts'
import { userKey } from '../user-key.ts'

const SLICE_ROWS = 2_000

/**
 * The imports `i` with rows in `purchase_changes`. Reads one entry of the index for each import: a
 * running one may have 300,000 rows.
 */
const CHANGING_IMPORTS = `(
  WITH RECURSIVE w (import) AS (
    SELECT min(import) FROM purchase_changes
    UNION ALL SELECT (SELECT min(import) FROM purchase_changes WHERE import > w.import)
    FROM w WHERE w.import IS NOT NULL)
  SELECT import FROM w) w CROSS JOIN imports i ON i.seq = w.import`

/** Begins with AND: the condition that no changes of committed imports wait in store `s`. */
export const IF_APPLIED = `AND NOT EXISTS (
  SELECT 1 FROM ${CHANGING_IMPORTS} WHERE i.store = s.seq AND i.owner IS NULL)`

const WAITING = 'c.purchase, c.status, c.filled, i.undoes'
const FIND_CHANGES = `
  SELECT ${WAITING} FROM ${CHANGING_IMPORTS} AND i.owner IS NULL
  CROSS JOIN purchase_changes c ON c.import = i.seq LIMIT ?`
const FIND_CHANGE = `
  SELECT ${WAITING} FROM purchase_changes c JOIN imports i ON i.seq = c.import
  WHERE i.owner IS NULL AND c.purchase = ?`
const RECORD_CHANGE = `
  INSERT INTO status_changes (import, purchase, before, after, filled)
  SELECT c.import, p.seq, p.status, c.status, c.filled
  FROM purchase_changes c JOIN purchases p ON p.seq = c.purchase WHERE c.purchase = ?`
const APPLY_STATUS = 'UPDATE purchases SET status = ? WHERE seq = ?'
const APPLY_CHANGE = `
  UPDATE purchases AS p SET status = c.status, ${settingAll(columnAfter)}
  FROM purchase_changes c WHERE c.purchase = p.seq AND p.seq = ?`

/**
 * Moves the changes of committed imports from `purchase_changes` to `purchases`. Reads
 * combine both tables, so they show these changes since the commit. Also records the previous
 * statuses, which an undo restores. The changes of an undo need no such record.
 */
export async function applyChanges(db: Connection, pause: Pause = setImmediate): Promise<void> {
  const applySlice = () =>
    db.transaction(() => {
      for (const row of db.all(FIND_CHANGES, SLICE_ROWS)) execute(db, applyWaiting(row))
    })
  while (db.find(FIND_CHANGES, 1)) {
    await applySlice()
    await pause()
  }
}

/**
 * Changes a purchase for an import. If `purchase_changes` still has an earlier change of the
 * purchase, applies the earlier change first.
 */
export function* changePurchase(
  store: number,
  seq: number,
  purchase: number,
  change: PurchaseChange,
): Program<void> {
  const waiting = yield* find(FIND_CHANGE, purchase)
  if (waiting) yield* applyWaiting(waiting)
  yield* addChange(store, seq, purchase, change)
  yield* run(RECORD_CHANGE, purchase)
  yield* applyChange(purchase)
}

/**
 * Adds a change of a purchase. Writes the entry of a filled user at once: until the commit, it has
 * no effect. Returns false if another import changes the purchase.
 */
export function* addChange(
  store: number,
  seq: number,
  purchase: number,
  change: PurchaseChange,
): Program<boolean> {
  const { user_id } = change.fills
  if (user_id !== undefined) yield* run(ADD_USER_ENTRY, userKey(store, user_id), purchase)
  return (yield* run(ADD_CHANGE, purchase, seq, ...valuesOf(change))) > 0
}

const ADD_USER_ENTRY = 'INSERT INTO purchase_users VALUES (?, ?) ON CONFLICT DO NOTHING'
const NAMES = Object.keys(CHANGE_COLUMNS)
const ADD_CHANGE = `
  INSERT INTO purchase_changes (purchase, import, ${NAMES.join()})
  VALUES (?, ?, ${NAMES.map(() => '?').join()})
  ON CONFLICT (purchase) DO UPDATE SET ${NAMES.map((name) => `${name} = excluded.${name}`).join()}
  WHERE import = excluded.import`

/** Applies a change of a committed import. A short statement applies those that only change a status. */
function* applyWaiting({ purchase, status, filled, undoes }: Row): Program<void> {
  const seq = purchase as number
  if (undoes === null) yield* run(RECORD_CHANGE, seq)
  if (filled !== 0) {
    if (undoes !== null) yield* run(DELETE_USER_ENTRY, seq)
    return yield* applyChange(seq)
  }
  yield* run(APPLY_STATUS, status as number, seq)
  yield* run(DELETE_CHANGE, seq)
}

/** Deletes the entry of a user that an undo removes. */
const DELETE_USER_ENTRY = `
  DELETE FROM purchase_users WHERE (user_key, purchase) IN (
    SELECT user_key(i.store, p.user_id), p.seq FROM purchase_changes c
    JOIN imports i ON i.seq = c.import JOIN purchases p ON p.seq = c.purchase
    WHERE c.purchase = ? AND c.filled & ${bitOf('user_id')} > 0 AND p.user_id IS NOT NULL)`

/** Moves a change into its purchase. */
export function* applyChange(purchase: number): Program<void> {
  yield* run(APPLY_CHANGE, purchase)
  yield* run(DELETE_CHANGE, purchase)
}

const DELETE_CHANGE = 'DELETE FROM purchase_changes WHERE purchase = ?'
