import {
  type Account,
  type Project,
  type Store,
  type StoredSecret,
  type Till,
  TillError,
} from '../lib/index.ts'
import type { Config } from './config.ts'
import { isFile } from './database-url.ts'
import { sharedMode } from './file-permissions.ts'
import type { Io } from './io.ts'
import { STATUSES } from './options.ts'
import { hint } from './program.ts'
import { formatValue } from './text.ts'

/** Finds the security warnings for a server with these settings. */
export async function findStartupWarnings(
  till: Till,
  db: string,
  { lockdown, masterKeys }: Config,
  host: string,
): Promise<string[]> {
  const mode = isFile(db) ? sharedMode(db) : undefined
  return [
    ...(lockdown
      ? []
      : ['Any token obtained with a public key can change its project: see --lockdown']),
    ...(masterKeys.length > 0 ? [] : [await describeMissingKey(till)]),
    ...(isLoopback(host) ? [] : [`${host} is no loopback address: put a proxy with TLS in front`]),
    ...(mode ? [`Other users of this machine may use ${db}, mode ${mode}: chmod 600 ${db}`] : []),
  ]
}

/** The warning of a server without a master key. The database may have one nevertheless. */
async function describeMissingKey({ operator }: Till): Promise<string> {
  try {
    await operator.requireMasterKey()
    return 'Secrets are stored unencrypted: see TILLKIT_MASTER_KEY'
  } catch (error) {
    if (!(error instanceof TillError) || error.code !== 'master_key_mismatch') throw error
    return `Writes of secrets are refused. ${error.message}`
  }
}

/** The warning of secrets that were stored before there was a master key. */
export function unsealedWarning(secrets: readonly StoredSecret[], db: string): string {
  const named = secrets.slice(0, NAMED_SECRETS).map(({ field, project_id, store_id }) => {
    return `${field} of ${store_id === undefined ? project_id : `${project_id}/${store_id}`}`
  })
  const others = secrets.length - named.length
  const list = [...named, ...(others > 0 ? [`${others} more`] : [])].join(', ')
  return `Secrets are stored unencrypted: ${list}; see ${hint('secrets seal', db)}`
}

const NAMED_SECRETS = 10

function isLoopback(host: string): boolean {
  return /^(localhost|127(\.\d{1,3}){3}|::1)$/.test(host)
}

/**
 * Warns of an unknown status. The library stores any status, so a mistyped `disabled` would disable
 * nothing.
 */
export function warnOfStatus({ stderr }: Io, status: string | undefined): void {
  if (status === undefined || STATUSES.includes(status)) return
  const quoted = formatValue(status)
  stderr.write(
    `warning: the status '${quoted}' has no effect; disabled, inactive, suspended and archived have\n`,
  )
}

/** Warns of a change of the currency of a store with items: their prices are not converted. */
export async function warnOfCurrency(
  till: Till,
  { stderr }: Io,
  account: Account,
  { store_id, store_config: { currency: before } }: Store,
  { store_config: { currency = 'no currency' } }: Store,
): Promise<void> {
  if (before === undefined || before === currency) return
  const { items, next } = await till.items.list(account, { store_id, limit: COUNTED_ITEMS })
  if (items.length === 0) return
  const count = next === undefined ? String(items.length) : `${COUNTED_ITEMS} or more`
  const what = `prices are not converted: those of items are now in ${currency}, not ${before}`
  stderr.write(`warning: ${what} (items: ${count}). Stored purchases keep their currency\n`)
}

const COUNTED_ITEMS = 1_000

/** Warns of a `webhook_url` without a `webhook_secret`. `owner` is a project, store or endpoint. */
export function warnOfUnsigned(
  { stderr }: Io,
  owner: string,
  webhook_url: unknown,
  isSigned: boolean,
): void {
  if (!webhook_url || isSigned) return
  stderr.write(`warning: the webhooks of ${owner} are not signed: set a webhook_secret\n`)
}

/** Warns of a private `webhook_url`. `owner` is a project, store or endpoint. */
export function warnOfPrivate({ stderr }: Io, owner: string, isPrivate: boolean | undefined): void {
  if (!isPrivate) return
  const message = 'is http or private. To send to it, a server needs --webhook-allow-private,'
  stderr.write(
    `warning: the webhook URL of ${owner} ${message} and an embedded sender allowPrivate\n`,
  )
}

/** Warns of a store whose `webhook_url` receives nothing. */
export function warnOfDisabled({ stderr }: Io, { store_id, store_config }: Store): void {
  const { webhook_url, webhook_enabled } = store_config
  if (webhook_url === undefined || webhook_enabled === true) return
  const message = 'receives nothing: its store_config has no "webhook_enabled": true'
  stderr.write(`warning: the webhook_url of ${store_id} ${message}\n`)
}

/** Warns of a project or store whose `webhook_url` gets no messages, or unsigned ones. */
export async function warnOfWebhook(
  till: Till,
  io: Io,
  account: Account,
  record: Project | Store,
): Promise<void> {
  const isStore = 'store_id' in record
  const { webhook_url, webhook_enabled } = isStore ? record.store_config : record.config
  if (webhook_url === undefined) return
  if (isStore && webhook_enabled !== true) return warnOfDisabled(io, record)
  const id = isStore ? record.store_id : record.id
  const endpoint_id = isStore ? `${record.project_id}/${id}` : id
  const { is_signed, is_private } = await till.webhooks.get(account, endpoint_id)
  warnOfUnsigned(io, id, webhook_url, is_signed)
  warnOfPrivate(io, id, is_private)
}
