import type { Backlog } from '../../lib/index.ts'
import { counter, type Family, gauge, samplesBy } from '../prometheus.ts'
import type { WebhookSender } from './sender.ts'

/** The metrics of the requests that this process's sender has made. */
export function deliveryMetrics(sender: WebhookSender | undefined): Family[] {
  if (!sender) return []
  const samples = samplesBy('result', sender.results)
  return [counter('tillkit_webhook_requests_total', 'Requests of the webhook sender.', ...samples)]
}

/**
 * The metrics of the endpoints in the storage, and of the events that they have not received yet.
 */
export function backlogMetrics(backlog: Backlog | undefined): Family[] {
  if (!backlog) return []
  const { endpoints, failing, lag, lag_seconds } = backlog
  const states = samplesBy('state', endpoints)
  const ofFailing = 'Active endpoints whose last request failed.'
  return [
    gauge('tillkit_webhook_endpoints', 'Webhook endpoints by state.', states),
    gauge('tillkit_webhook_endpoints_failing', ofFailing, failing),
    gauge('tillkit_webhook_lag_events', 'Events that active endpoints have not received yet.', lag),
    gauge('tillkit_webhook_lag_seconds', 'Age of the oldest of these events.', lag_seconds),
  ]
}
