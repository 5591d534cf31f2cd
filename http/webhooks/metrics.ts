import type { Backlog } from '../../lib/index.ts'
import { counter, type Family, gauge } from '../prometheus.ts'
import type { WebhookSender } from './sender.ts'

/** The metrics of the requests that this process's sender has made. */
export function deliveryMetrics(sender: WebhookSender | undefined): Family[] {
  if (!sender) return []
  const samples = Object.entries(sender.results).map(([result, value]) => {
    return { labels: { result }, value }
  })
  return [counter('tillkit_webhook_requests_total', 'Requests of the webhook sender.', ...samples)]
}

/**
 * The metrics of the endpoints in the storage, and of the events that they have not received yet.
 */
export function backlogMetrics(backlog: Backlog | undefined): Family[] {
  if (!backlog) return []
  const { endpoints, failing, lag, lag_seconds } = backlog
  const states = Object.entries(endpoints).map(([state, value]) => ({ labels: { state }, value }))
  return [
    gauge('tillkit_webhook_endpoints', 'Webhook endpoints by state.', ...states),
    gauge('tillkit_webhook_endpoints_failing', 'Active endpoints whose last request failed.', {
      value: failing,
    }),
    gauge('tillkit_webhook_lag_events', 'Events that active endpoints have not received yet.', {
      value: lag,
    }),
    gauge('tillkit_webhook_lag_seconds', 'Age of the oldest of these events.', {
      value: lag_seconds,
    }),
  ]
}
