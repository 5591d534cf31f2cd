import fc from 'fast-check'
import { SEED } from './random.ts'

// fast-check prints the seed with a failure.
fc.configureGlobal({ seed: SEED })

export { fc, SEED }
