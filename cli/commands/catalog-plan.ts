import { CATALOG_OPTIONS, printPlan, readRequest, withStoreHint } from '../catalog-file.ts'
import { command } from '../command.ts'
import { CommandFailure } from '../command-errors.ts'

export const catalogPlan = command({
  name: 'catalog plan',
  summary: 'Show what a catalog file would change',
  example: 'tillkit catalog plan catalog.json --check',
  operand: 'FILE|-',
  options: {
    ...CATALOG_OPTIONS,
    check: { help: 'exit with 1 when there are differences' },
  },
  async run(invocation) {
    const { till, options, output } = invocation
    const { account, request } = await readRequest(invocation)
    const plan = await withStoreHint(request, () => till.catalog.plan(account, request))
    printPlan(output, plan, request.ignored_columns ?? [])
    if (options.check && plan.changes.length > 0) throw new CommandFailure('')
  },
})
