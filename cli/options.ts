import { PRESET_NAMES, PURCHASE_STATUSES, type SummaryKey } from '../lib/index.ts'
import type { Command, OptionSecret, OptionSpecs } from './command.ts'
import { fileContent, json, jsonFile, pairOf } from './option-values.ts'

// The options that several commands share, grouped by use.

/** The known statuses of projects and stores. Any other status is stored, but has no effect. */
export const STATUSES = ['active', 'disabled', 'inactive', 'suspended', 'archived']

/** The password in the URL of a database. */
export const PASSWORD: OptionSecret = {
  name: 'the password',
  isIn: (text) => /^postgres(ql)?:\/\/[^/?#@]*:[^/?#@]+@/.test(text),
  instead: 'TILLKIT_DB or PGPASSWORD',
}

/** A secret in the configuration of a project or store, such as `webhook_secret` or `api_key`. */
export const CONFIG_SECRET: OptionSecret = {
  name: 'a secret',
  isIn: (text) => /"\w*(secret|key)"\s*:\s*"/.test(text),
  instead: '@FILE',
}

/** The options that every command takes. */
export const COMMON_OPTIONS = {
  db: {
    value: 'DB',
    variable: 'TILLKIT_DB',
    secret: PASSWORD,
    help: 'a file, postgres://…, or memory: (default tillkit.db)',
  },
  json: { help: 'print one JSON document on stdout, and nothing else there' },
  help: { short: 'h', help: 'print this help' },
} satisfies OptionSpecs

export const ACCOUNT_OPTION = {
  account: {
    value: 'ID',
    variable: 'TILLKIT_ACCOUNT',
    isCaller: true,
    help: 'the account; not needed when there is only one',
  },
} as const satisfies OptionSpecs

export const PROJECT_OPTION = {
  project: { value: 'ID', required: true, help: 'the project' },
} as const satisfies OptionSpecs

/** Options of commands that read or change a project. */
export const PROJECT_OPTIONS = {
  account: {
    value: 'ID',
    variable: 'TILLKIT_ACCOUNT',
    isCaller: true,
    help: 'the account that owns the project; not needed',
  },
  ...PROJECT_OPTION,
} as const satisfies OptionSpecs

export const STORE_OPTIONS = {
  ...ACCOUNT_OPTION,
  store: { value: 'ID', required: true, variable: 'TILLKIT_STORE', help: 'the store' },
} as const satisfies OptionSpecs

/** Options of the commands that create a project or a store. */
export const NEW_STATUS_OPTION = {
  status: { value: 'S', choices: STATUSES, help: 'default active; disabled and archived close it' },
} as const satisfies OptionSpecs

/** Options of the commands that change a project or a store. */
export const CHANGE_OPTIONS = {
  status: { value: 'S', choices: STATUSES, help: 'disabled and archived close it' },
  config: {
    value: 'JSON|@FILE',
    parse: json,
    secret: CONFIG_SECRET,
    help: 'replaces the configuration; a secret left out is kept',
  },
} as const satisfies OptionSpecs

export const PAGE_OPTIONS = {
  limit: { value: 'N', help: 'the most entries to print, 1 to 1000 (default 100)' },
  cursor: { value: 'NEXT', help: 'continue after the previous page' },
} as const satisfies OptionSpecs

/** The option of the commands that write a file. */
export const OUT_OPTION = {
  out: { value: 'FILE', help: 'write to this file instead of standard output' },
} as const satisfies OptionSpecs

/** Options of the commands that read a purchase file. */
export const READING_OPTIONS = {
  preset: {
    value: 'NAME',
    choices: PRESET_NAMES,
    help: `${PRESET_NAMES.join(', ')}; detected by the header when left out`,
  },
  map: {
    value: 'FIELD=COLUMN',
    multiple: true,
    parse: pairOf('FIELD=COLUMN'),
    help: 'the column of a field: transaction_id="Order No"; may be repeated',
  },
  'price-unit': {
    value: 'UNIT',
    field: 'priceUnit',
    choices: ['minor', 'major'],
    help: 'minor (499, the default) or major (4.99)',
  },
  layout: {
    value: 'FILE',
    parse: jsonFile,
    help: 'a JSON file that describes the columns of any export',
  },
  skus: {
    value: 'FILE',
    parse: fileContent,
    help: 'a CSV file with the columns vendor_sku and item',
  },
} as const satisfies OptionSpecs

export const SELECTION_OPTIONS = {
  user: { value: 'ID', help: 'only those of this user' },
  sku: { value: 'SKU', help: 'only those of this item' },
  status: {
    value: 'S',
    choices: PURCHASE_STATUSES,
    help: 'only purchased, pending, refunded or cancelled ones',
  },
  import: { value: 'ID', help: 'only those that this import added' },
  from: { value: 'TIME', help: 'from this time or day on: 2026-01-31' },
  to: { value: 'TIME', help: 'before this time or day' },
} as const satisfies OptionSpecs

/** Options of the summary of purchases. */
export const SUMMARY_OPTIONS = {
  ...ACCOUNT_OPTION,
  store: { value: 'ID', help: 'only this store; default all live stores of the account' },
  sandbox: { help: 'all sandbox stores of the account, instead of the live ones' },
  by: {
    value: 'FIELDS',
    parse: (text: string) => text.split(',') as SummaryKey[], // validated by the library
    help: 'day, week or month (UTC) of the purchase, also for refunds; sku, currency, store; default month,sku,currency',
  },
  top: {
    value: 'N',
    help: 'only the N groups with the most purchases, 1 to 1000; each currency is a group',
  },
  ...SELECTION_OPTIONS,
} as const satisfies OptionSpecs

/** All options of a command, the common ones included. */
export function optionsOf({ options, databaseOption, needsNoDatabase }: Command): OptionSpecs {
  const { db, ...others } = COMMON_OPTIONS
  return { ...options, ...(databaseOption || needsNoDatabase ? {} : { db }), ...others }
}
