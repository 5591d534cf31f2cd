import type { NumberedEntry } from '../../domain/audit.ts'
import type { EndpointWrite, StoredEndpoint } from '../../domain/endpoint.ts'
import type { MessageKey, StoredMessage } from '../../domain/message.ts'
import type { EndpointMove } from '../port.ts'

export interface KeptEndpoint {
  endpoint: StoredEndpoint
  /** The `seq` of the last audit entry that was read for this endpoint. */
  position: number
  /** A cursor within the entry after `position`, if only a part of that entry was read. */
  rest: string
  holder?: string | undefined
  leaseUntil: number
}

/** The part of a storage in memory that the functions for webhook endpoints use. */
interface EndpointRecords {
  readonly endpoints: Map<string, KeptEndpoint>
  readonly messages: Map<string, StoredMessage>
  readonly audit: readonly NumberedEntry[]
  readonly lastSeq: number
}

/** Inserts, changes or deletes webhook endpoints. */
export function writeEndpoints(state: EndpointRecords, writes: readonly EndpointWrite[]): void {
  for (const { endpoint_id, change } of writes) {
    const kept = state.endpoints.get(endpoint_id)
    const changed = structuredClone(change(structuredClone(kept?.endpoint)))
    if (kept && changed) kept.endpoint = changed
    else if (changed) {
      const added = { endpoint: changed, position: state.lastSeq, rest: '', leaseUntil: 0 }
      state.endpoints.set(endpoint_id, added)
    } else if (kept) {
      state.endpoints.delete(endpoint_id)
      for (const [key, message] of state.messages) {
        if (message.endpoint_id === endpoint_id) state.messages.delete(key)
      }
    }
  }
}

/**
 * The `seq` of the first audit entry that a webhook endpoint has not read, or of which it has a
 * waiting message. An archive run stops before this entry.
 */
export function findNeeded(
  { endpoints, messages, audit }: EndpointRecords,
  stopped_before: number,
): number {
  let needed = Number.POSITIVE_INFINITY
  for (const { endpoint, position } of endpoints.values()) {
    const { stopped_at, failing_since } = endpoint
    if ((stopped_at ?? failing_since ?? stopped_before) < stopped_before) continue
    const isUnread = ({ seq, project_id, store_id }: NumberedEntry) =>
      seq > position &&
      project_id === endpoint.project_id &&
      (endpoint.store_id === '' || store_id === endpoint.store_id)
    needed = Math.min(needed, audit.find(isUnread)?.seq ?? needed)
    for (const { endpoint_id, state, sequence } of messages.values()) {
      if (endpoint_id === endpoint.endpoint_id && state === 'waiting') {
        needed = Math.min(needed, sequence)
      }
    }
  }
  return needed
}

/**
 * Applies an `EndpointMove`: moves the position of an endpoint, and changes when its waiting
 * messages are due or given up.
 */
export function moveEndpoint(
  state: EndpointRecords,
  kept: KeptEndpoint,
  { to, retry, renewed_at }: EndpointMove,
): void {
  if (to !== undefined) kept.rest = ''
  if (to === 'newest') kept.position = state.lastSeq
  else if (to !== undefined) {
    const { project_id } = kept.endpoint
    const first = state.audit.find((each) => each.seq >= to && each.project_id === project_id)
    kept.position = Math.min(kept.position, (first?.seq ?? Number.POSITIVE_INFINITY) - 1)
  }
  for (const [key, message] of state.messages) {
    const isOwn = message.endpoint_id === kept.endpoint.endpoint_id
    if (!isOwn || message.state !== 'waiting') continue
    const { holder, created_at, next_at } = message
    state.messages.set(key, {
      ...message,
      created_at: renewed_at ?? created_at,
      next_at: retry && holder === undefined ? 0 : next_at,
    })
  }
}

/** The key of a message in the map of all messages. */
export function keyOf({ endpoint_id, sequence, part }: MessageKey): string {
  return `${endpoint_id} ${sequence} ${part}`
}
