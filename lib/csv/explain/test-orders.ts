import { excerpt } from '../../errors.ts'
import type { Column, Shop } from './columns.ts'
import { countOf, type Draft, MAX_NAMED, skip } from './draft.ts'
import { type Concept, flagOf, isTestOf, oppositesOf, YES } from './words.ts'

/** Passes over the rows of test orders, and says so. A sandbox store gets all rows. */
export function writeTestOrders(
  draft: Draft,
  columns: readonly Column[],
  { is_sandbox }: Pick<Shop, 'is_sandbox'>,
): void {
  const marks = columns
    .filter((column) => !draft.uses.has(column))
    .map((column) => ({ column, ...readTests(column) }))
    .filter(({ tests, unknown }) => tests.length + unknown.length > 0)
  for (const { column, tests, unknown, isNamed } of marks.slice(0, MAX_NAMED)) {
    const rows = tests.reduce((sum, word) => sum + (column.words?.get(word) ?? 0), 0)
    if (tests.length > 0 && is_sandbox) {
      const remark = `${column.name} marks test orders: rows with and without the mark are imported`
      draft.remarks.push(remark)
    } else if (tests.length > 0) {
      skip(draft, column, tests)
      const named = `${quoted(tests)} of ${column.name}`
      if (isNamed)
        draft.remarks.push(
          `Test orders are passed over: rows with ${named} (${countOf(rows, 'row')})`,
        )
      else {
        const question = `Are the rows with ${named} test orders (${countOf(rows, 'row')})?`
        draft.ask('skip', question, 'yes: they are passed over')
      }
    }
    if (unknown.length === 0) continue
    const question = `Which words of ${column.name} mark test orders: ${quoted(unknown)}?`
    draft.ask('skip', question, 'none: the rows are imported')
  }
}

interface TestWords {
  readonly tests: readonly string[]
  /** Words of unknown meaning in a column that has the name of such a mark. */
  readonly unknown: readonly string[]
  readonly isNamed: boolean
}

function quoted(words: readonly string[]): string {
  const named = words.slice(0, MAX_NAMED).map((word) => `"${excerpt(word)}"`)
  return `${named.join(', ')}${words.length > MAX_NAMED ? ', …' : ''}`
}

/**
 * Finds the words of a column that mark test orders. A column that has the name of such a mark may
 * have no test order yet: its words include those that later files will have.
 */
function readTests({ concepts, words, kind }: Column): TestWords {
  const none: TestWords = { tests: [], unknown: [], isNamed: false }
  const has = (...any: readonly Concept[]) => any.some((concept) => concepts.has(concept))
  const isNamed = has('test', 'live', 'environment') && !has('id', 'date')
  if (kind === 'empty') return { ...none, isNamed, tests: has('test') && isNamed ? YES : [] }
  if (!words || (!isNamed && has('item', 'game', 'sku', 'name', 'customer', 'discount')))
    return none
  const isTest = (word: string) => {
    const flag = has('test', 'live') ? flagOf(word) : undefined
    return isTestOf(word) ?? (flag === undefined ? undefined : flag !== has('live'))
  }
  const all = [...words.keys()]
  const tests = all.filter((word) => isTest(word) === true)
  if (!isNamed) return { ...none, tests }
  const live = all.filter((word) => isTest(word) === false)
  const later = live.flatMap((word) => (flagOf(word) === undefined ? LATER : oppositesOf(word)))
  const unknown = has('live') ? [] : all.filter((word) => isTest(word) === undefined)
  return { tests: [...new Set([...tests, ...(tests.length > 0 ? [] : later)])], unknown, isNamed }
}

/** The most common words of later test orders. */
const LATER = ['test', 'sandbox']
