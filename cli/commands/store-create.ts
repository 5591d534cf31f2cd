import { type NewStore, STORE_TYPES, type StoreType } from '../../lib/index.ts'
import { command } from '../command.ts'
import { json } from '../option-values.ts'
import { accountOf, NEW_STATUS_OPTION, PROJECT_OPTIONS } from '../options.ts'
import { warnOfStatus, warnOfStore } from '../warnings.ts'

export const storeCreate = command({
  name: 'store create',
  summary: 'Create a store in a project',
  example:
    'tillkit store create --project prj_1 --type web --store main \\\n    --config \'{"currency":"USD"}\'',
  storesSecrets: true,
  options: {
    ...PROJECT_OPTIONS,
    type: {
      value: 'T',
      required: true,
      choices: STORE_TYPES,
      help: 'iap, web or custom',
    },
    store: { value: 'ID', help: 'its store_id; generated when left out' },
    sandbox: { help: 'no real payments' },
    ...NEW_STATUS_OPTION,
    config: { value: 'JSON|@FILE', parse: json, help: 'store configuration' },
  },
  async run({ till, options, output, io }) {
    const account = await accountOf(till, options)
    const store = await till.stores.create(account, {
      project_id: options.project,
      store_id: options.store,
      store_type: options.type as StoreType, // the library validates the type
      is_sandbox: options.sandbox,
      status: options.status,
      store_config: options.config,
    } satisfies Record<keyof NewStore, unknown>)
    output.record(store)
    warnOfStatus(io, options.status)
    await warnOfStore(till, io, account, store)
  },
})
