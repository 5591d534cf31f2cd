/**
 * Returns the most similar known word. It differs from `typed` by at most two mistakes, or by one
 * if `typed` is short.
 */
export function suggest(typed: string, known: readonly string[]): string | undefined {
  const allowed = typed.length < 5 ? 1 : 2
  const [best] = known
    .map((each) => ({ each, mistakes: editDistance(typed, each) }))
    .filter(({ mistakes }) => mistakes <= allowed)
    .sort((a, b) => a.mistakes - b.mistakes)
  return best?.each
}

/** The Damerau–Levenshtein distance of two words (optimal string alignment). */
function editDistance(a: string, b: string): number {
  let before: number[] = []
  let last = Array.from({ length: b.length + 1 }, (_, j) => j)
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      const wrong = (last[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1)
      const isSwapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
      const swapped = isSwapped ? (before[j - 2] ?? 0) + 1 : wrong
      row.push(Math.min(wrong, swapped, (last[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1))
    }
    before = last
    last = row
  }
  return last[b.length] ?? 0
}
