import type { WebhookFailure } from '../lib/index.ts'

/** Formats the status or the error of an attempt. */
export function formatFailure({ status, error }: Omit<WebhookFailure, 'at'>): string {
  return error ?? (status === undefined ? '' : `status ${status}`)
}

/** The operand of the commands for one endpoint. */
export const ENDPOINT = 'PROJECT[/STORE]'
