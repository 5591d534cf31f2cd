/**
 * The seed of generated input: fixed in `npm test`, new in each `npm run soak`. `FUZZ_SEED=<seed>`
 * sets it.
 */
export const SEED = Number(process.env.FUZZ_SEED ?? 20_240_229)

/** Returns a generator of numbers in [0, 1), like `Math.random`, but reproducible (mulberry32). */
export function createRandom(): () => number {
  let state = SEED
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let bits = Math.imul(state ^ (state >>> 15), 1 | state)
    bits = (bits + Math.imul(bits ^ (bits >>> 7), 61 | bits)) ^ bits
    return ((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32
  }
}
