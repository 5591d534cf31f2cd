/**
 * The seed of generated input: the same in each `npm test`, a fresh one in `npm run fuzz`.
 * `FUZZ_SEED=<seed>` repeats a run with it.
 */
export const SEED = Number(process.env.FUZZ_SEED ?? 20_240_229)

/** Returns numbers from 0 to below 1, as `Math.random` does, but the same in each run (mulberry32). */
export function createRandom(): () => number {
  let state = SEED
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let bits = Math.imul(state ^ (state >>> 15), 1 | state)
    bits = (bits + Math.imul(bits ^ (bits >>> 7), 61 | bits)) ^ bits
    return ((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32
  }
}
