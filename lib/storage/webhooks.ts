import { deliveryPrograms } from './webhooks/delivery.ts'
import type { WebhookDialect } from './webhooks/dialect.ts'
import { endpointPrograms } from './webhooks/endpoints.ts'
import { logPrograms } from './webhooks/log.ts'
import { readyPrograms } from './webhooks/ready.ts'

export type { Program, WebhookDialect } from './webhooks/dialect.ts'

/** The webhook methods of both SQL adapters. */
export function webhookPrograms(dialect: WebhookDialect) {
  const endpoints = endpointPrograms(dialect)
  return {
    ...endpoints,
    ...readyPrograms(dialect),
    ...deliveryPrograms(dialect, endpoints),
    ...logPrograms(dialect),
  }
}
