import { type NewStore, STORE_TYPES, type StoreChange, type StoreType } from '../../lib/index.ts'
import { command } from '../command.ts'
import { json, oneOf } from '../option-values.ts'
import { CHANGE_OPTIONS, NEW_STATUS_OPTION, PROJECT_OPTIONS, STORE_OPTIONS } from '../options.ts'
import { warnOfStatus, warnOfWebhook } from '../warnings.ts'

const storeCreate = command({
  name: 'store create',
  summary: 'Create a store in a project',
  example:
    'tillkit store create --project prj_1 --type web --store main \\\n    --config \'{"currency":"USD"}\'',
  storesSecrets: true,
  options: {
    ...PROJECT_OPTIONS,
    type: { value: 'T', required: true, choices: STORE_TYPES, help: 'iap, web or custom' },
    store: { value: 'ID', help: 'its store_id; generated when left out' },
    sandbox: { help: 'no real payments' },
    ...NEW_STATUS_OPTION,
    config: { value: 'JSON|@FILE', parse: json, help: 'store configuration' },
  },
  async run({ till, account, options, output, io }) {
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
    await warnOfWebhook(till, io, account, store)
  },
})

const storeList = command({
  name: 'store list',
  summary: 'List the stores of a project',
  example: 'tillkit store list --project prj_1',
  options: PROJECT_OPTIONS,
  async run({ till, account, options, output }) {
    const stores = till.stores.all(account, { project_id: options.project })
    const columns = ['store_id', 'store_type', 'is_sandbox', 'status']
    await output.list(stores, columns, ['is_sandbox', 'status…', 'store_type'])
  },
})

const BOOLEANS = ['true', 'false'] as const
const trueOrFalse = oneOf(...BOOLEANS)

const storeUpdate = command({
  name: 'store update',
  summary: 'Change a store',
  example: 'tillkit store update --store main --status disabled',
  storesSecrets: true,
  changes: ['sandbox', 'status', 'config'],
  options: {
    ...STORE_OPTIONS,
    sandbox: {
      value: 'BOOL',
      parse: trueOrFalse,
      choices: BOOLEANS,
      help: 'true: no real payments',
    },
    ...CHANGE_OPTIONS,
  },
  async run({ till, account, options, output, io }) {
    const { sandbox, status, config } = options
    const store = await till.stores.update(account, {
      store_id: options.store,
      is_sandbox: sandbox === undefined ? undefined : sandbox === 'true',
      status,
      store_config: config,
    } satisfies Record<keyof StoreChange, unknown>)
    output.record(store)
    warnOfStatus(io, status)
    await warnOfWebhook(till, io, account, store)
  },
})

export const storeCommands = [storeCreate, storeList, storeUpdate]
