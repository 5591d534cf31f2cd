import { isCurrency } from '../signs.ts'
import { parseMoney } from './money.ts'
import { isZoneName } from './zones.ts'

/** The kind of a column's cells. */
export type Kind =
  | 'empty'
  | 'email'
  | 'clock'
  | 'date'
  | 'zone'
  | 'currency'
  | 'count'
  | 'money'
  | 'code'
  | 'text'

const EMAIL = /^[^\s@]{1,64}@[^\s@]{1,190}$/
const CLOCK = /^\d{1,2}:\d\d(:\d\d([.,]\d{1,9})?)?( ?[AP]\.?M\.?)?$/i
/** Three parts of a date, whose order `dates.ts` finds; a time of day and a zone may follow. */
const DATE =
  /^(\p{L}{2,9}\.?,? +)?(\d{1,4}|\p{L}{3,9}\.?)[-/., ]{1,2}(\d{1,2}|\p{L}{3,9}\.?)[-/., ]{1,2}(\d{4}|\d{1,2})([T, ].{1,40})?$/iu
const COUNT = /^[-+−]?\d{1,7}$/
const CODE = /^[^\s]*\d[^\s]*$/

/**
 * The kinds of cells, the most special ones first. Each takes a short text, and no pattern
 * backtracks over more than some characters.
 */
export const KINDS: readonly { readonly kind: Kind; fits(cell: string): boolean }[] = [
  { kind: 'email', fits: (cell) => EMAIL.test(cell) },
  { kind: 'clock', fits: (cell) => CLOCK.test(cell) },
  { kind: 'date', fits: (cell) => cell.length <= 64 && DATE.test(cell) },
  { kind: 'currency', fits: isCurrency },
  { kind: 'zone', fits: isZoneName },
  { kind: 'count', fits: (cell) => COUNT.test(cell) },
  // Eight digits without a mark are rather an id.
  { kind: 'money', fits: (cell) => !/^\d{8,}$/.test(cell) && parseMoney(cell) !== undefined },
  { kind: 'code', fits: (cell) => CODE.test(cell) },
]
