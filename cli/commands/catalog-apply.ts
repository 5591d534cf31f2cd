import { CATALOG_OPTIONS, printPlan, readRequest, withStoreHint } from '../catalog-file.ts'
import { command } from '../command.ts'
import { warnOfProject, warnOfStore } from '../warnings.ts'

export const catalogApply = command({
  name: 'catalog apply',
  summary: 'Make all changes of a catalog file, or none',
  example: 'tillkit catalog apply catalog.json',
  storesSecrets: true,
  operand: 'FILE|-',
  options: {
    ...CATALOG_OPTIONS,
    digest: { value: 'D', help: 'the digest of the plan: refuse when the catalog changed since' },
  },
  async run(invocation) {
    const { till, options, output, io } = invocation
    const { account, request } = await readRequest(invocation)
    const { digest } = options
    const plan = await withStoreHint(request, () =>
      till.catalog.apply(account, { ...request, digest }),
    )
    output.line(plan.changes.length > 0 ? 'Applied.' : 'Nothing to change.')
    printPlan(output, plan, request.ignored_columns ?? [])
    for (const { kind, store_id = '' } of plan.changes) {
      if (kind === 'project') {
        await warnOfProject(till, io, account, await till.projects.get(account, plan.project_id))
      } else if (kind === 'store') {
        await warnOfStore(till, io, account, await till.stores.get(account, store_id))
      }
    }
  },
})
