import type { WebhookFailure } from '../lib/index.ts'

/** Formats the answer's status or the error of an attempt to deliver a webhook. */
export function formatFailure({ status, error }: Omit<WebhookFailure, 'at'>): string {
  return error ?? (status === undefined ? '' : `status ${status}`)
}

/** The operand of the commands for one webhook endpoint. */
export const ENDPOINT = 'PROJECT[/STORE]'
