import { formatValue, shorten, widthOf } from './text.ts'

/**
 * The columns to omit, or with `…` after the name to shorten, in this order, until a table fits the
 * terminal. Values that people copy and paste are never shortened.
 */
export type Narrowing = readonly string[]

const GAP = '  '
/** A shortened column keeps at least 11 characters: the date of a time (2026-01-31…) still fits. */
const MIN_WIDTH = 11

/** Formats a header line and one line for each row, within `available` columns if possible. */
export function formatTable(
  rows: readonly object[],
  columns: readonly string[],
  narrowing: Narrowing,
  available: number,
): string {
  if (rows.length === 0) return 'none'
  const cells = columns.map((name) => cellsOf(name, rows))
  const widths = new Map(cells.map((column) => [column.name, column.width]))
  const fitted = fit(widths, narrowing, available)
  const shown = cells.flatMap((column) => {
    const width = fitted.get(column.name)
    return width === undefined ? [] : [formatColumn(column, width)]
  })
  const lines = [columns, ...rows].map((_, i) =>
    shown
      .map((column) => column[i])
      .join(GAP)
      .trimEnd(),
  )
  const omitted = columns.filter((name) => !fitted.has(name) && name.trim() !== '')
  if (omitted.length > 0) lines.push(`(no room for ${omitted.join(', ')}: see --json)`)
  return lines.join('\n')
}

function cellsOf(name: string, rows: readonly object[]) {
  const cells = rows.map((row) => formatValue((row as { [name: string]: unknown })[name]))
  const width = cells.reduce((most, cell) => Math.max(most, widthOf(cell)), widthOf(name))
  return { name, cells, width }
}

/** Shortens and omits columns until the table fits. Returns the widths of the remaining columns. */
function fit(
  widths: ReadonlyMap<string, number>,
  narrowing: Narrowing,
  available: number,
): ReadonlyMap<string, number> {
  const fitted = new Map(widths)
  const room = () =>
    available - [...fitted.values()].reduce((sum, width) => sum + width + GAP.length, -GAP.length)
  const steps = narrowing.map((step) => ({
    name: step.replace('…', ''),
    isOmitted: !/…/.test(step),
  }))
  for (const { name, isOmitted } of steps) {
    const width = widths.get(name) ?? 0
    if (room() >= 0) break
    if (isOmitted) fitted.delete(name)
    else fitted.set(name, Math.min(width, Math.max(MIN_WIDTH, name.length, width + room())))
  }
  // Widens the shortened columns again, because an omitted column may have freed more room than
  // needed.
  for (const { name, isOmitted } of steps.reverse()) {
    const width = fitted.get(name)
    if (isOmitted || width === undefined || room() <= 0) continue
    fitted.set(name, Math.min(widths.get(name) ?? 0, width + room()))
  }
  return fitted
}

function formatColumn({ name, cells }: ReturnType<typeof cellsOf>, width: number): string[] {
  // Aligns numbers to the right.
  const isNumeric = cells.every((cell) => /^[\d,.]*$/.test(cell))
  return [name, ...cells].map((cell) => {
    const text = shorten(cell, width)
    const padding = ' '.repeat(width - widthOf(text))
    return isNumeric ? padding + text : text + padding
  })
}
