import { type NewStore, STORE_TYPES, type StoreChange } from '../../lib/index.ts'
import { command } from '../command.ts'
import { createStoreIfMissing, ifMissing } from '../if-missing.ts'
import { json, oneOf, type ValueParser } from '../option-values.ts'
import {
  CHANGE_OPTIONS,
  CONFIG_SECRET,
  NEW_STATUS_OPTION,
  PROJECT_OPTIONS,
  STORE_OPTIONS,
} from '../options.ts'
import { warnOfCurrency, warnOfStatus, warnOfWebhook } from '../warnings.ts'

const BOOLEANS = ['true', 'false'] as const
const isTrue: ValueParser<boolean> = (text, name) => oneOf(...BOOLEANS)(text, name) === 'true'

export const storeCommands = [
  command({
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
        field: 'store_type',
        help: 'iap, web or custom',
      },
      store: { value: 'ID', help: 'its store_id; generated when left out' },
      ...ifMissing('store_id'),
      sandbox: { field: 'is_sandbox', help: 'no real payments' },
      ...NEW_STATUS_OPTION,
      config: {
        value: 'JSON|@FILE',
        field: 'store_config',
        parse: json,
        secret: CONFIG_SECRET,
        help: 'store configuration',
      },
    },
    async run({ till, account, options, input, output, db, io }) {
      const { if_missing, ...given } = input
      given satisfies Record<keyof NewStore, unknown>
      const store = if_missing
        ? await createStoreIfMissing({ till, io, db }, account, given)
        : await till.stores.create(account, given)
      output.record(await till.stores.get(account, store.store_id)) // without secrets
      warnOfStatus(io, options.status)
      await warnOfWebhook(till, io, account, store)
    },
  }),

  command({
    name: 'store list',
    summary: 'List the stores of a project',
    example: 'tillkit store list --project prj_1',
    options: PROJECT_OPTIONS,
    run({ till, account, input, output }) {
      const columns = ['store_id', 'store_type', 'is_sandbox', 'status']
      const stores = till.stores.all(account, input)
      return output.list('stores', stores, columns, ['is_sandbox', 'status…', 'store_type'])
    },
  }),

  command({
    name: 'store update',
    summary: 'Change a store',
    example: 'tillkit store update --store main --status disabled',
    storesSecrets: true,
    changes: ['sandbox', 'status', 'config'],
    options: {
      ...STORE_OPTIONS,
      sandbox: {
        value: 'BOOL',
        field: 'is_sandbox',
        parse: isTrue,
        choices: BOOLEANS,
        help: 'true: no real payments',
      },
      status: CHANGE_OPTIONS.status,
      config: { ...CHANGE_OPTIONS.config, field: 'store_config' },
    },
    async run({ till, account, options, input, output, io }) {
      const change = input satisfies Record<keyof StoreChange, unknown>
      const before = await till.stores.get(account, change.store_id)
      const store = await till.stores.update(account, change)
      output.record(await till.stores.get(account, store.store_id)) // without secrets
      warnOfStatus(io, options.status)
      await warnOfCurrency(till, io, account, before, store)
      await warnOfWebhook(till, io, account, store)
    },
  }),
]
