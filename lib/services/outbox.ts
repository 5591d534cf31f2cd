import { setImmediate } from 'node:timers/promises'
import type { NumberedEntry } from '../domain/audit.ts'
import type { StoredEndpoint } from '../domain/endpoint.ts'
import { stopEndpoint } from '../domain/endpoint.ts'
import { receives } from '../domain/event.ts'
import type { NewMessage, StoredMessage } from '../domain/message.ts'
import { type AttemptResult, settleAttempt } from '../domain/retry.ts'
import type { LeasedEndpoint, TakeRequest } from '../storage/port.ts'
import { type Backlog, createBacklog } from './backlog.ts'
import type { Context } from './context.ts'
import { openSecrets } from './endpoints.ts'
import { bodyOf, headersOf, readMessages } from './events.ts'
import { signWebhook } from './signature.ts'
import { createTurns } from './turns.ts'

/** The operations of the webhook sender. They take no caller: the sender serves all accounts. */
export interface Outbox {
  /**
   * Leases endpoints with due messages to a holder, and returns these messages. No other holder
   * gets an endpoint until its lease ends. A later call of the same holder renews its leases, and
   * does not return messages that the holder may still be sending.
   */
  claim(request: ClaimRequest): Promise<Claim>
  /**
   * Writes the outcomes of attempts, in one batch. Renews the leases of their endpoints. Ignores
   * results of messages that another holder has claimed meanwhile.
   */
  settle(holder: string, results: readonly AttemptResult[]): Promise<void>
  /** Ends all leases of a holder that stops. The messages that it claimed are due at once. */
  release(holder: string): Promise<void>
  /**
   * Calls the listener after this process has committed changes, at most once in an iteration of
   * the event loop. Returns a function that removes the listener.
   */
  onChange(listener: () => void): () => void
  /**
   * Counts endpoints, and the changes that they have not received, for metrics. Reads at most 1,000
   * endpoints and examines about 100,000 entries. The result may be 15 seconds old.
   */
  backlog(): Promise<Backlog>
  /** Counts the endpoints, also active ones, with a URL that the account has not confirmed. */
  countUnconfirmed(): Promise<number>
  /** Whether any account has an endpoint. */
  hasEndpoints(): Promise<boolean>
}

export interface ClaimRequest {
  /** A random name of the sender, new at each start. */
  readonly holder: string
  /** The ids of endpoints to skip, because the sender already has enough of their messages. */
  readonly except?: readonly string[] | undefined
  /** The ids of accounts to skip, because the sender already has enough of their messages. */
  readonly exceptAccounts?: readonly string[] | undefined
  /** The maximum number of messages for one endpoint; default 100. At most 10 if it is failing. */
  readonly limit?: number | undefined
  /** Milliseconds of the lease; default 45,000. */
  readonly lease?: number | undefined
}

export interface Claim {
  readonly messages: readonly OutgoingMessage[]
  /**
   * Start an attempt at most this many milliseconds after the call of `claim`. Afterwards, another
   * holder may get the messages: drop the unsent ones, or return them by `released`.
   */
  readonly start_within: number
  /** How many milliseconds to wait before the next `claim`, unless a change is committed before. */
  readonly next: number
}

/** A signed message. Send it as a POST request with exactly these headers. */
export interface OutgoingMessage {
  readonly account_id: string
  readonly endpoint_id: string
  readonly sequence: number
  /** 0, or the number of the part. `endpoint_id`, `sequence` and `part` identify the message. */
  readonly part: number
  /** The number of this attempt, from 1. */
  readonly attempt: number
  readonly url: string
  /** The headers `content-type`, `webhook-id`, `webhook-timestamp` and `webhook-signature`. */
  readonly headers: { readonly [name: string]: string }
  /** The body: JSON, at most 64 KiB. */
  readonly body: string
}

const LEASE_MS = 45_000
/** One claim leases at most this many endpoints, because their messages are held in memory. */
const ENDPOINTS = 10
const MESSAGES = 100
const MESSAGES_OF_FAILING = 10
/**
 * The maximum number of entries that one claim examines for the endpoint of a store. Most entries
 * may concern other stores. An index by store would skip these, but takes 74 MB for a log of 206 MB
 * (10^6 entries), and adds 8.6 % to the WAL of each create. Without the index, PostgreSQL reads 200
 * entries in 0.5 ms.
 */
const ENTRIES_OF_STORE = 200
const CLAIM_BYTES = 8 * 1024 ** 2
const CLAIM_BYTES_OF_ACCOUNT = CLAIM_BYTES / 2
/** How many message bodies are read at once. Concurrent reads share one database version check. */
const BODIES = 10
/** The most pages of refunds, with up to 500 each, that one claim reads for an endpoint. */
const REFUND_PAGES = 20
/** An endpoint with this many waiting messages reads no further audit entries. */
const WAITING = 1_000
const LOG_MS = 30 * 86_400_000
const LOG_MESSAGES = 10_000
const PRUNE_EVERY = 1_000
const NEXT_MS = 60_000

export function createOutbox(context: Context): Outbox {
  const { storage, now, sealer, retries, giveUpAfter } = context
  /** The duration of the lease in each holder's last claim, in milliseconds. */
  const leases = new Map<string, number>()
  const turns = createTurns(storage)
  /** The number of results for each endpoint since its delivery log was last pruned. */
  const unpruned = new Map<string, number>()

  /** Reads the next audit entries of an endpoint, and creates their messages. */
  const read = async ({ endpoint, position, waiting }: LeasedEndpoint, most: number) => {
    const { endpoint_id, failing_since } = endpoint
    const limit = failing_since === undefined ? most : Math.min(most, MESSAGES_OF_FAILING)
    const room = Math.min(limit, WAITING - waiting)
    const entryLimit = endpoint.store_id === '' ? room : ENTRIES_OF_STORE
    const entries = room > 0 ? await storage.listUnread(endpoint_id, entryLimit) : []
    const messages: NewMessage[] = []
    let until: TakeRequest['endpoints'][number]['read']
    let pages = 0
    for (const { seq, ...entry } of entries) {
      if (messages.length >= room || pages >= REFUND_PAGES || until?.rest) break
      if (!receives(endpoint, entry)) {
        until = { seq, rest: '', entry: seq }
        continue
      }
      const found = await readMessages(
        storage,
        endpoint_id,
        { seq, ...entry },
        {
          rest: seq === position.seq + 1 ? position.rest : '',
          messages: room - messages.length,
          pages: REFUND_PAGES - pages,
        },
      )
      const { rest } = found
      messages.push(...found.messages)
      pages += found.pages
      until = { seq: rest === '' ? seq : seq - 1, rest, entry: seq }
    }
    const isMore = entries.length > 0 && entries.at(-1)?.seq !== until?.seq
    const hasMore = room > 0 && (entries.length === entryLimit || isMore)
    return { endpoint_id, position, read: until, messages, limit, entries, hasMore }
  }

  /** Returns the audit entries of messages, by `seq`. Reads those that are not in `known`. */
  const entriesOf = async (messages: readonly StoredMessage[], known: readonly NumberedEntry[]) => {
    const entries = new Map(known.map((entry) => [entry.seq, entry]))
    const missing = messages.map(({ sequence }) => sequence).filter((seq) => !entries.has(seq))
    const found = missing.length === 0 ? [] : await storage.findEntries([...new Set(missing)])
    for (const entry of found) entries.set(entry.seq, entry)
    return entries
  }

  const sign = (
    endpoint: StoredEndpoint,
    secrets: readonly string[],
    message: StoredMessage,
    body: string,
  ): OutgoingMessage => {
    const { endpoint_id, sequence, part, webhook_id, attempts } = message
    const timestamp = Math.floor(now() / 1000)
    const signature = signWebhook(secrets, webhook_id, timestamp, body)
    const headers = {
      ...headersOf(webhook_id, timestamp),
      ...(secrets.length > 0 && { 'webhook-signature': signature }),
    }
    const { account_id, url } = endpoint
    return { account_id, endpoint_id, sequence, part, attempt: attempts + 1, url, headers, body }
  }

  /** Gives up messages in `gone`, whose data is deleted. Makes messages in `excess` due at once. */
  const putBack = async (
    holder: string,
    lease: number,
    gone: readonly StoredMessage[],
    excess: readonly StoredMessage[],
  ) => {
    if (gone.length + excess.length === 0) return
    const isGone = ({ webhook_id }: StoredMessage) =>
      gone.some((each) => each.webhook_id === webhook_id)
    await storage.settleMessages(holder, [...gone, ...excess], lease, (endpoint, messages) => ({
      endpoint,
      messages: messages.map((each) =>
        isGone(each)
          ? { ...each, state: 'failed', error: 'The data of the event is gone' }
          : { ...each, next_at: now() },
      ),
    }))
  }

  return {
    async claim({ holder, limit = MESSAGES, lease = LEASE_MS, ...request }) {
      const { except = [], exceptAccounts = [] } = request
      const begun = now()
      leases.set(holder, lease)
      const most = WAITING
      const { endpoint_ids, isMore } = await turns.choose({
        ...{ holder, now: begun, most, except, exceptAccounts, limit: ENDPOINTS },
      })
      const found =
        endpoint_ids.length === 0
          ? []
          : await storage.leaseEndpoints({ holder, lease, now: begun, most, endpoint_ids })
      const leased = endpoint_ids.flatMap(
        (id) => found.find(({ endpoint }) => endpoint.endpoint_id === id) ?? [],
      )
      const readings = await Promise.all(leased.map((each) => read(each, limit)))
      const taken = await storage.takeMessages({
        ...{ holder, now: begun, hidden_until: begun + lease },
        endpoints: readings,
      })
      const entries = await entriesOf(
        taken,
        readings.flatMap((each) => each.entries),
      )
      const messages: OutgoingMessage[] = []
      const gone: StoredMessage[] = []
      const excess: StoredMessage[] = []
      let bytes = 0
      const bytesOf = new Map<string, number>()
      const isFull = (account_id: string) =>
        bytes >= CLAIM_BYTES || (bytesOf.get(account_id) ?? 0) >= CLAIM_BYTES_OF_ACCOUNT
      const bodyIn = async (message: StoredMessage) => {
        const entry = entries.get(message.sequence)
        return entry && bodyOf(storage, entry, message)
      }
      for (const { endpoint } of leased) {
        const { account_id, endpoint_id } = endpoint
        const own = taken.filter((message) => message.endpoint_id === endpoint_id)
        const secrets = openSecrets(sealer, endpoint, begun)
        if (!secrets) {
          const stop = (current: StoredEndpoint) => stopEndpoint(current, now(), 'secret')
          await storage.updateEndpoint(endpoint_id, stop)
          excess.push(...own)
          continue
        }
        for (let first = 0; first < own.length; first += BODIES) {
          const group = own.slice(first, first + BODIES)
          const bodies = isFull(account_id) ? [] : await Promise.all(group.map(bodyIn))
          for (const [i, message] of group.entries()) {
            const body = bodies[i]
            if (isFull(account_id)) excess.push(message)
            else if (!body) gone.push(message)
            else {
              const size = Buffer.byteLength(body)
              bytes += size
              bytesOf.set(account_id, (bytesOf.get(account_id) ?? 0) + size)
              messages.push(sign(endpoint, secrets, message, body))
            }
          }
        }
        await setImmediate() // yields to the event loop, because the storage may answer without I/O
      }
      await putBack(holder, lease, gone, excess)
      const isMoreNow = isMore || excess.length > 0 || readings.some(({ hasMore }) => hasMore)
      const due = isMoreNow ? begun : await storage.findNextDue(begun)
      const next = Math.min(NEXT_MS, Math.max(0, (due ?? begun + NEXT_MS) - now()))
      return { messages, start_within: Math.floor((lease * 2) / 3), next }
    },

    async settle(holder, results) {
      const rules = { now: now(), retries, giveUpAfter, random: Math.random }
      await storage.settleMessages(
        holder,
        results,
        leases.get(holder) ?? LEASE_MS,
        (endpoint, messages) => settleAttempt(endpoint, messages, results, rules),
      )
      for (const { endpoint_id } of results) {
        const count = unpruned.get(endpoint_id)
        unpruned.set(endpoint_id, (count ?? PRUNE_EVERY) + 1)
      }
      for (const [endpoint_id, count] of unpruned) {
        if (count < PRUNE_EVERY) continue
        unpruned.set(endpoint_id, 0)
        await storage.pruneMessages(endpoint_id, now() - LOG_MS, LOG_MESSAGES)
      }
    },

    async release(holder) {
      leases.delete(holder)
      await storage.releaseEndpoints(holder, now())
    },
    onChange: (listener) => storage.onWrite(listener),

    backlog: createBacklog(context),
    countUnconfirmed: () => storage.countUnconfirmed(),
    hasEndpoints: async () => (await storage.listEndpoints({}, { limit: 1 })).records.length > 0,
  }
}
