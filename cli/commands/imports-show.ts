import { command } from '../command.ts'
import { printTotals } from '../import-totals.ts'
import { ACCOUNT_OPTION } from '../options.ts'

export const importsShow = command({
  name: 'imports show',
  summary: 'Show an import: who, when, which file, counts and totals',
  example: 'tillkit imports show imp_01J8Z3 --json',
  operand: 'ID',
  options: ACCOUNT_OPTION,
  async run({ till, operand, options, output }) {
    const account = await till.accounts.get(options.account)
    const found = await till.imports.get(account, operand)
    if (output.json) return output.record(found)
    const { totals = [], ...record } = found
    output.record(record)
    printTotals(output, totals)
  },
})
