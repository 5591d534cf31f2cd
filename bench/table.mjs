export function median(values) {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.floor(sorted.length / 2)]
}

export function percentile(values, part) {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? Number.NaN
}

/** Prints a title and a table. The first column is left-aligned, the others right-aligned. */
export function printTable(title, header, rows) {
  const lines = [header, ...rows.map((row) => row.map(String))]
  const widths = header.map((_, i) => Math.max(...lines.map((line) => line[i].length)))
  console.log(`\n${title}`)
  for (const line of lines) {
    const cells = line.map((cell, i) =>
      i === 0 ? cell.padEnd(widths[i]) : cell.padStart(widths[i]),
    )
    console.log(`  ${cells.join('  ')}`)
  }
}

export const count = (value) => Math.round(value).toLocaleString('en-US')
export const ratio = (value) => value.toFixed(2)
