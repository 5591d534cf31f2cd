import type { StoreChange } from '../../lib/index.ts'
import { command } from '../command.ts'
import { UsageError } from '../command-errors.ts'
import { oneOf } from '../option-values.ts'
import { CHANGE_OPTIONS, STORE_OPTIONS } from '../options.ts'
import { warnOfStatus, warnOfStore } from '../warnings.ts'

const BOOLEANS = ['true', 'false'] as const
const trueOrFalse = oneOf(...BOOLEANS)

export const storeUpdate = command({
  name: 'store update',
  summary: 'Change a store',
  example: 'tillkit store update --store main --status disabled',
  storesSecrets: true,
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
  async run({ till, options, output, io }) {
    const { sandbox, status, config } = options
    if ([sandbox, status, config].every((each) => each === undefined)) {
      throw new UsageError('Nothing to change: give --sandbox, --status or --config')
    }
    const account = await till.accounts.get(options.account)
    const store = await till.stores.update(account, {
      store_id: options.store,
      is_sandbox: sandbox === undefined ? undefined : sandbox === 'true',
      status,
      store_config: config,
    } satisfies Record<keyof StoreChange, unknown>)
    output.record(store)
    warnOfStatus(io, status)
    await warnOfStore(till, io, account, store)
  },
})
