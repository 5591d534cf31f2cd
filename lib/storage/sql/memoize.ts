/**
 * Returns a function that calls `make` once for each key, and keeps every result. The number of
 * different keys must be bounded.
 */
export function memoize<K, V>(make: (key: K) => V): (key: K) => V {
  const results = new Map<K, V>()
  return (key) => {
    const known = results.get(key)
    if (known !== undefined) return known
    const made = make(key)
    results.set(key, made)
    return made
  }
}
