/** Characters that could change the terminal, the order of the text or the number of lines. */
const UNSAFE = /[\p{Cc}\p{Bidi_Control}\u2028\u2029]/gu
const UNSAFE_OR_LINE_END = new RegExp(`\\r?\\n|${UNSAFE.source}`, 'gu')

/** Formats a value on one line. Escapes characters that could change what the terminal shows. */
export function formatValue(value: unknown): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '')
  return text.replace(UNSAFE, escapeCharacter)
}

/** Formats a value as JSON of several lines, with the same escapes as `formatValue`. */
export function formatJson(value: unknown): string {
  return escapeLines(JSON.stringify(value, null, 2))
}

/** Escapes unsafe characters like `formatValue`, but keeps line ends. JSON keeps its value. */
export function escapeLines(text: string): string {
  return text.replace(UNSAFE_OR_LINE_END, (each) =>
    each.endsWith('\n') ? each : escapeCharacter(each),
  )
}

function escapeCharacter(character: string): string {
  // `JSON.stringify` escapes only the characters below U+0020.
  const escaped = JSON.stringify(character).slice(1, -1)
  if (escaped !== character) return escaped
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
}

/** Formats a value as one argument of a shell command. */
export function quote(value: string): string {
  return `'${formatValue(value).replaceAll("'", "'\\''")}'`
}

/** Characters of one column: ASCII, Latin letters, dashes, quotation marks, `…`. */
const PLAIN = /^[ -~\u00ae-\u02ff\u2013\u2014\u2018-\u201d\u2026]*$/
const INVISIBLE = /^[\p{M}\p{Cf}]+$/u
// Unicode's East Asian wide and full-width characters, which take two terminal columns.
const LETTERS = /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff]/u
const FORMS = /[\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{1f200}-\u{1f2ff}\u{20000}-\u{3fffd}]/u
const EMOJI = /\p{Emoji_Presentation}|\ufe0f/u
const WIDE = new RegExp(`^(${LETTERS.source}|${FORMS.source})|${EMOJI.source}`, 'u')

/** The number of terminal columns that a text takes. */
export function widthOf(text: string): number {
  if (PLAIN.test(text)) return text.length
  let width = 0
  for (const { segment } of graphemesOf(text)) width += widthOfGrapheme(segment)
  return width
}

/** Cuts a text to a width in terminal columns. A cut text ends with `…`. */
export function shorten(text: string, width: number): string {
  if (widthOf(text) <= width) return text
  let kept = ''
  let left = width - 1
  for (const { segment } of graphemesOf(text)) {
    left -= widthOfGrapheme(segment)
    if (left < 0) break
    kept += segment
  }
  return `${kept}…`
}

let segmenter: Intl.Segmenter | undefined

function graphemesOf(text: string): Intl.Segments {
  segmenter ??= new Intl.Segmenter() // takes 10 ms: made when needed
  return segmenter.segment(text)
}

function widthOfGrapheme(grapheme: string): number {
  if (INVISIBLE.test(grapheme)) return 0
  return WIDE.test(grapheme) ? 2 : 1
}

/** The width of help texts, and of a terminal with unknown width. */
export const WIDTH = 80

/** Wraps words into lines. The first line begins with `first`, all others with `indent`. */
export function wrap(
  words: readonly string[],
  first: string,
  indent: string,
  width = WIDTH,
): string {
  const lines: string[] = []
  let line = first
  for (const word of words) {
    const fits = widthOf(line) + widthOf(word) < width
    if (!fits) lines.push(line.trimEnd())
    line = `${fits ? line : indent}${word} `
  }
  return [...lines, line.trimEnd()].join('\n')
}
