export { isOrigin } from './cors.ts'
export { createFetchHandler, type FetchHandler, type FetchInfo } from './fetch.ts'
export { createHandler, type RequestHandler } from './handle.ts'
export type { AccountHook } from './host-account.ts'
export type { Limits } from './limits.ts'
export type { LogEntry } from './log.ts'
export { deliveryMetrics, type PoolMetrics } from './metrics.ts'
export type { OpenApiDocument, OpenApiOptions } from './openapi/document.ts'
export { createOpenApi } from './openapi.ts'
export type { HandlerOptions } from './options.ts'
export { createProblem, type Problem } from './problems.ts'
export { combineMetrics, countersOf, type MetricValues } from './prometheus.ts'
export { type RunningServer, type ServeOptions, serve } from './server.ts'
export { readVersion } from './version.ts'
export type { Resolve } from './webhooks/address.ts'
export type { OutgoingOptions } from './webhooks/request.ts'
export {
  type DeliveryResult,
  NO_RESULTS,
  startWebhooks,
  type WebhookSender,
  type WebhookSenderOptions,
} from './webhooks/sender.ts'
