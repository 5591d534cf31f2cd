/** Normalizes a column's name for comparison: ignores case and surrounding blanks. */
export function normalize(name: string): string {
  return name.trim().toLowerCase()
}

/**
 * Copies a text that is kept for long. V8 stores a long cell as a slice, which keeps the text
 * around it in memory. The concatenation makes V8 copy the text; the slice is a view of that copy.
 */
export function copyText(text: string): string {
  return text.length < 13 ? text : ` ${text}`.slice(1)
}
