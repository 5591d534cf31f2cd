import { command } from '../command.ts'

export const storeList = command({
  name: 'store list',
  summary: 'List the stores of a project',
  options: { project: { value: 'ID', required: true, help: 'the project' } },
  async run({ till, options, output }) {
    const stores = await till.stores.list(
      await till.accounts.ownerOf(options.project),
      options.project,
    )
    output.table(stores, ['store_id', 'store_type', 'is_sandbox', 'status'], {
      is_sandbox: 'omit',
      status: 'shorten',
      store_type: 'omit',
    })
  },
})
