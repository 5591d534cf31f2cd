/**
 * Removes blanks at both ends of a text: blank, tab, and the Unicode blanks that spreadsheets and
 * shops write around cells (U+00A0, U+2007, U+202F, U+FEFF). Keeps line breaks.
 */
export function trimBlanks(text: string): string {
  if (!hasOuterBlank(text)) return text
  let start = 0
  let end = text.length
  while (start < end && isBlank(text.charCodeAt(start))) start++
  while (end > start && isBlank(text.charCodeAt(end - 1))) end--
  return text.slice(start, end)
}

/** Whether a text begins or ends with a blank. */
export function hasOuterBlank(text: string): boolean {
  if (text === '') return false
  return isBlank(text.charCodeAt(0)) || isBlank(text.charCodeAt(text.length - 1))
}

function isBlank(code: number): boolean {
  if (code < 0xa0) return code === 0x20 || code === 0x09
  return code === 0xa0 || code === 0x2007 || code === 0x202f || code === 0xfeff
}
