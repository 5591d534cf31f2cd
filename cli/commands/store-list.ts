import { command } from '../command.ts'
import { accountOf, PROJECT_OPTIONS } from '../options.ts'

export const storeList = command({
  name: 'store list',
  summary: 'List the stores of a project',
  example: 'tillkit store list --project prj_1',
  options: PROJECT_OPTIONS,
  async run({ till, options, output }) {
    const account = await accountOf(till, options)
    const stores = till.stores.all(account, { project_id: options.project })
    await output.list(stores, ['store_id', 'store_type', 'is_sandbox', 'status'], {
      is_sandbox: 'omit',
      status: 'shorten',
      store_type: 'omit',
    })
  },
})
