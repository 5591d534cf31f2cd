import { formatValue, shorten, widthOf } from './text.ts'

/**
 * What gives way where a table is wider than its terminal, the first first. What people paste is
 * never shortened: it is whole, or left out.
 */
export type Yielding = { readonly [column: string]: 'shorten' | 'omit' }

const GAP = '  '
/** What `shorten` leaves: the day of a time. */
const LEAST = 11

/** A line for the names of the columns, and one for each row, within `available` if they can be. */
export function formatTable(
  rows: readonly object[],
  columns: readonly string[],
  yielding: Yielding,
  available: number,
): string {
  if (rows.length === 0) return 'none'
  const cells = columns.map((name) => cellsOf(name, rows))
  const widths = new Map(cells.map((column) => [column.name, column.width]))
  const fitted = fit(widths, yielding, available)
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

interface Column {
  readonly name: string
  readonly cells: readonly string[]
  readonly width: number
}

function cellsOf(name: string, rows: readonly object[]): Column {
  const cells = rows.map((row) => formatValue((row as { [name: string]: unknown })[name]))
  const width = cells.reduce((most, cell) => Math.max(most, widthOf(cell)), widthOf(name))
  return { name, cells, width }
}

/** The widths of those columns that are shown. */
function fit(
  widths: ReadonlyMap<string, number>,
  yielding: Yielding,
  available: number,
): ReadonlyMap<string, number> {
  const fitted = new Map(widths)
  const room = () =>
    available - [...fitted.values()].reduce((sum, width) => sum + width + GAP.length, -GAP.length)
  const inOrder = Object.entries(yielding)
  for (const [name, how] of inOrder) {
    const width = widths.get(name) ?? 0
    if (room() >= 0) break
    if (how === 'omit') fitted.delete(name)
    else fitted.set(name, Math.min(width, Math.max(LEAST, name.length, width + room())))
  }
  // What was shortened before others were left out gets of their room.
  for (const [name, how] of inOrder.reverse()) {
    const width = fitted.get(name)
    if (how === 'omit' || width === undefined || room() <= 0) continue
    fitted.set(name, Math.min(widths.get(name) ?? 0, width + room()))
  }
  return fitted
}

function formatColumn({ name, cells }: Column, width: number): string[] {
  // Numbers stand at the right of their column.
  const isNumeric = cells.every((cell) => /^[\d,.]*$/.test(cell))
  return [name, ...cells].map((cell) => {
    const text = shorten(cell, width)
    const padding = ' '.repeat(width - widthOf(text))
    return isNumeric ? padding + text : text + padding
  })
}
