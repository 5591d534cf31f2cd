import fc from 'fast-check'
import { SEED } from './random.ts'

// fast-check prints the seed with a failure.
fc.configureGlobal({ seed: SEED })

const SURROGATES = 0xd800
const COUNT = 0x800

/**
 * The unit `binary` of fast-check: any character of Unicode. fast-check takes a second of CPU time
 * in each process to make a table of them.
 */
const character = fc.integer({ min: 0, max: 0x10_ffff - COUNT }).map(
  (index) => String.fromCodePoint(index < SURROGATES ? index : index + COUNT),
  (text) => {
    const code = [...String(text)].length === 1 ? String(text).codePointAt(0) : undefined
    if (code === undefined || !String(text).isWellFormed()) throw new Error('not one character')
    return code < SURROGATES ? code : code - COUNT
  },
)

export { character, fc, SEED }
