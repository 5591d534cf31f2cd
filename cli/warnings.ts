import { openMode } from './access.ts'
import type { Config } from './config.ts'
import { isFile } from './open.ts'
import { formatValue } from './text.ts'

/** What a server that starts so leaves open, a sentence each. */
export function findStartupWarnings({ db, lockdown, masterKeys }: Config, host: string): string[] {
  const mode = isFile(db) ? openMode(db) : undefined
  return [
    ...(lockdown ? [] : ['Any token got with a public key changes its project: see --lockdown']),
    ...(masterKeys.length > 0 ? [] : ['Secrets are stored in clear: see TILLKIT_MASTER_KEY']),
    ...(isLoopback(host) ? [] : [`${host} is no loopback address: have a proxy with TLS in front`]),
    ...(mode ? [`Others of this machine may use ${db}, mode ${mode}: chmod 600 ${db}`] : []),
  ]
}

function isLoopback(host: string): boolean {
  return /^(localhost|127(\.\d{1,3}){3}|::1)$/.test(host)
}

const STATUSES = ['active', 'disabled', 'archived']

/**
 * Any status is kept as sent: who mistypes one that closes a project or a store must learn of it.
 */
export function warnOfStatus(status: string | undefined): void {
  if (status === undefined || STATUSES.includes(status)) return
  const quoted = formatValue(status)
  process.stderr.write(
    `warning: the status '${quoted}' has no effect; disabled and archived have\n`,
  )
}
