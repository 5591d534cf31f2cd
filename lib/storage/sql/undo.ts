import { numberOf } from '../columns.ts'
import type { UndoOutcome } from '../records.ts'
import type { Dialect } from './dialect.ts'
import { find, type Program } from './program.ts'

/** Finds the reason why an import cannot be undone, if there is one. */
export function* findRefusal(
  { countChanged, isPurchaseOfChange }: Dialect,
  seq: number,
  force: boolean,
): Program<UndoOutcome | undefined> {
  const changed = numberOf((yield* find(countChanged, seq, seq))?.n)
  if (changed > 0) return { outcome: 'changed', rows: changed }
  if (force) return undefined
  // Counts the rows that later imports skipped because this import had added them. Adds the number
  // of purchases whose status this import changed and that another import had added, if a later
  // import skipped rows of that other import.
  const countSkipped = `
    SELECT coalesce(sum(o.rows), 0) + (
      SELECT count(*) FROM status_changes c CROSS JOIN purchases p
      WHERE c.import = ? AND ${isPurchaseOfChange} AND EXISTS (
        SELECT 1 FROM import_overlaps l WHERE l.earlier = p.import AND l.import > c.import)) AS n
    FROM import_overlaps o WHERE o.earlier = ?`
  const skipped = numberOf((yield* find(countSkipped, seq, seq))?.n)
  return skipped > 0 ? { outcome: 'skipped', rows: skipped } : undefined
}

export const DELETE_OVERLAPS = 'DELETE FROM import_overlaps WHERE import = ? OR earlier = ?'
