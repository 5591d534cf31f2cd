import type { LayoutOptions } from '../../../lib/csv/layout.ts'
import { assertLayoutChoice, layoutFields } from '../../../lib/csv/options.ts'
import { parseObject } from '../../../lib/domain/fields.ts'
import { read } from '../purchase-file.ts'

/** Parses the options of an import as the library does. */
export const parseLayoutChoice = (input: object) => {
  const choice = parseObject(input, layoutFields)
  assertLayoutChoice(choice)
  return choice
}

/** Reads lines with a layout file. */
export function readWith(
  layout: object,
  lines: readonly string[],
  options: Partial<LayoutOptions> = {},
) {
  return read(lines, { ...parseLayoutChoice({ layout }), currency: 'USD', ...options })
}
