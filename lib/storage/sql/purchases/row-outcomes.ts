import { countUnequal } from '../../../domain/repeat.ts'
import type { AdvancedRows, RowOutcomes } from './records.ts'

export const NO_ROWS: RowOutcomes = {
  added: 0,
  skipped: 0,
  repeated: [],
  priced: [],
  updated: 0,
  conflicts: [],
  unknown: [],
  unequal: [],
}

/** Combines several outcomes: adds the counts, and joins the lists. */
export function sumOutcomes(results: readonly RowOutcomes[]): RowOutcomes {
  const total = (count: (result: RowOutcomes) => number) =>
    results.reduce((sum, result) => sum + count(result), 0)
  return {
    added: total(({ added }) => added),
    skipped: total(({ skipped }) => skipped),
    repeated: results.flatMap(({ repeated }) => repeated),
    priced: results.flatMap(({ priced }) => priced),
    updated: total(({ updated }) => updated),
    conflicts: results.flatMap(({ conflicts }) => conflicts),
    unknown: results.flatMap(({ unknown }) => unknown),
    unequal: countUnequal(results.flatMap(({ unequal }) => unequal)),
  }
}

/** Combines the outcomes of several steps. */
export function sumAdvanced(results: readonly AdvancedRows[]): AdvancedRows {
  const total = (count: 'updated' | 'unknown' | 'notLater') =>
    results.reduce((sum, result) => sum + result[count], 0)
  return {
    updated: total('updated'),
    unknown: total('unknown'),
    notLater: total('notLater'),
    ambiguous: results.flatMap(({ ambiguous }) => ambiguous),
  }
}
