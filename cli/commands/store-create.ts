import type { StoreType } from '../../lib/index.ts'
import { command } from '../command.ts'
import { json } from '../values.ts'
import { warnOfStatus } from '../warnings.ts'

export const storeCreate = command({
  name: 'store create',
  summary: 'Create a store in a project',
  storesSecrets: true,
  options: {
    account: { value: 'ID', required: true, help: 'the account that owns the project' },
    project: { value: 'ID', required: true, help: 'the project' },
    type: { value: 'T', required: true, help: 'iap, web or custom' },
    store: { value: 'ID', help: 'its store_id; made when left out' },
    sandbox: { help: 'no payment is charged for real' },
    status: { value: 'S', help: 'default active; disabled and archived have effect' },
    config: { value: 'JSON|@FILE', parse: json, help: 'store configuration' },
  },
  async run({ till, options, output }) {
    const account = await till.accounts.get(options.account)
    const store = await till.stores.create(account, {
      project_id: options.project,
      store_id: options.store,
      store_type: options.type as StoreType, // asserted by the library, with the rest
      is_sandbox: options.sandbox,
      status: options.status,
      store_config: options.config,
    })
    output.record(store)
    warnOfStatus(options.status)
  },
})
