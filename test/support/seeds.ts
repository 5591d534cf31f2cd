/**
 * What generated tests begin with: one seed that is always the same, and one that is new each time.
 * A failure prints its seed; `FUZZ_SEED=<seed> FUZZ_SECONDS=0 npm run fuzz` plays it again.
 */
export const SEEDS = [
  { seed: 20_240_229, name: 'as always' },
  { seed: Math.floor(Math.random() * 2 ** 31), name: 'as never before' },
] as const
