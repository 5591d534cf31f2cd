import type { Config } from './config.ts'

/** What a server that starts so leaves open, a sentence each. */
export function openDoors({ lockdown, masterKeys }: Config, host: string): string[] {
  return [
    ...(lockdown ? [] : ['Any token got with a public key changes its project: see --lockdown']),
    ...(masterKeys.length > 0 ? [] : ['Secrets are stored in clear: see TILLKIT_MASTER_KEY']),
    ...(isLoopback(host) ? [] : [`${host} is no loopback address: have a proxy with TLS in front`]),
  ]
}

function isLoopback(host: string): boolean {
  return /^(localhost|127(\.\d{1,3}){3}|::1)$/.test(host)
}
