import { countUnequal } from '../domain/purchase.ts'
import type { StagedRows } from './records.ts'

export const NOTHING_STAGED: StagedRows = {
  added: 0,
  skipped: 0,
  updated: 0,
  conflicts: [],
  unknown: [],
  unequal: [],
}

/** Combines several outcomes: adds the counts, and joins the lists. */
export function sumStaged(results: readonly StagedRows[]): StagedRows {
  const total = (count: (result: StagedRows) => number) =>
    results.reduce((sum, result) => sum + count(result), 0)
  return {
    added: total(({ added }) => added),
    skipped: total(({ skipped }) => skipped),
    updated: total(({ updated }) => updated),
    conflicts: results.flatMap(({ conflicts }) => conflicts),
    unknown: results.flatMap(({ unknown }) => unknown),
    unequal: countUnequal(results.flatMap(({ unequal }) => unequal)),
  }
}
