import { randomUUID } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import type { NumberedEntry } from '../../domain/audit.ts'
import { activated, type StoredEndpoint, stopEndpoint } from '../../domain/endpoint.ts'
import { isSelected, receives } from '../../domain/event.ts'
import { messageKey, type NewMessage, type StoredMessage } from '../../domain/message.ts'
import { type AttemptResult, settleAttempt } from '../../domain/retry.ts'
import type { EndpointReading, ReadyEndpoint } from '../../storage/port.ts'
import type { Context } from '../context.ts'
import { type Backlog, createBacklog } from './backlog.ts'
import { createDatabaseClock } from './clock.ts'
import { openSecrets, signerOf } from './endpoints.ts'
import { bodyOf, headersOf, readMessages } from './events.ts'
import { createHeld, type OutgoingMessage } from './held.ts'
import { signWebhook } from './signature.ts'

/**
 * The methods of the webhook sender. They take no caller: the sender serves all accounts. One
 * process sends at a time. If it dies, another takes over when its lease ends.
 */
export interface Outbox {
  /**
   * Claims due messages, except those that the caller holds. Call it again when the previous call has
   * ended. Returns none while another process sends.
   */
  claim(request?: ClaimRequest): Promise<Claim>
  /**
   * Writes the outcomes of attempts, in one batch, and renews the lease. Ignores messages that do not
   * wait, and all of them if another process has taken over.
   */
  settle(results: readonly AttemptResult[]): Promise<void>
  /** Ends the lease of a process that stops to send. */
  release(): Promise<void>
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
  /** The messages of earlier claims that are not settled. They count in all limits. */
  readonly held?: readonly OutgoingMessage[] | undefined
  /** The most held messages of an endpoint; default 400. At most 10 if it is failing. */
  readonly limit?: number | undefined
  /** Milliseconds after which another process takes over; default 40,000. */
  readonly lease?: number | undefined
}

export interface Claim {
  readonly messages: readonly OutgoingMessage[]
  /**
   * Start an attempt at most this many milliseconds after the call of `claim`. Afterwards, another
   * process may send the messages: settle the unsent ones as `released`.
   */
  readonly start_within: number
  /** Whether more messages may be due. If not, call again after a commit, or in a second. */
  readonly isMore: boolean
  /** The ids of the endpoints that this call disabled, because no master key decrypts their secret. */
  readonly disabled: readonly string[]
  /** The ids of such endpoints that this call resumed, because a master key now does. */
  readonly resumed: readonly string[]
}

const LEASE_MS = 40_000
/** The most endpoints that one claim serves. */
const ENDPOINTS = 100
/** How many endpoints are read at once, and get their messages in one transaction. */
const TOGETHER = 5
const MESSAGES = 400
const MESSAGES_OF_FAILING = 10
/**
 * The maximum number of entries that one claim examines for an endpoint: one transaction inserts
 * their messages. Most entries may concern other stores or, on SQLite, other projects of the account.
 * An index by store would skip these, but takes 74 MB for a log of 206 MB (10^6 entries), and adds
 * 8.6 % to the WAL of each create. Without the index, PostgreSQL reads 200 entries in 0.5 ms.
 */
const ENTRIES = 200
/** How many message bodies are read at once. Concurrent reads share one database version check. */
const BODIES = 10
/** The most pages of refunds, with up to 500 each, that one claim reads for an endpoint. */
const REFUND_PAGES = 20
/** An endpoint with this many waiting messages reads no further audit entries. */
const WAITING = 1_000
const LOG_MS = 30 * 86_400_000
const LOG_MESSAGES = 10_000
const PRUNE_EVERY = 1_000
/** How often a process tries to decrypt the secrets of endpoints that were disabled for that. */
const RESUME_EVERY_MS = 60_000

type Held = ReturnType<typeof createHeld>

export function createOutbox(context: Context): Outbox {
  const { storage, sealer, retries, giveUpAfter } = context
  const { now, check } = createDatabaseClock(context)
  const holder = randomUUID()
  /** The lease of the last claim, in milliseconds. */
  let lease = LEASE_MS
  /** The number of results for each endpoint since its delivery log was last pruned. */
  const unpruned = new Map<string, number>()
  let resumeAt = 0

  /** Finds endpoints that may get messages. */
  const findReady = (held: Held, limit: number, begun: number) => {
    const counts = [...held.counts]
    // An endpoint gets messages again when half of them are settled: each claim reads all due ones.
    const havingHalf = (most: number) =>
      counts.filter(([, count]) => count >= most / 2).map(([endpoint_id]) => endpoint_id)
    return storage.findReady({
      holder,
      now: begun,
      limit: ENDPOINTS,
      most_waiting: WAITING,
      full_accounts: held.full(),
      full_endpoints: havingHalf(limit),
      full_if_failing: havingHalf(Math.min(limit, MESSAGES_OF_FAILING)),
      claimed: counts.map(([endpoint_id, count]) => ({ endpoint_id, claimed: count })),
    })
  }

  const secretsOf = async (endpoint: StoredEndpoint) =>
    openSecrets(sealer, await signerOf(storage, endpoint), now())

  /** Disables an endpoint whose secret cannot be decrypted. Its events wait. */
  const disable = async (endpoint_id: string): Promise<boolean> => {
    let isChanged = false
    await storage.updateEndpoint(endpoint_id, (current) => {
      isChanged = current.state === 'active'
      return isChanged ? stopEndpoint(current, now(), 'secret') : current
    })
    return isChanged
  }

  /**
   * Resumes endpoints that were disabled because their secret could not be decrypted, if a master key
   * now decrypts it. One whose secret was removed stays disabled: its messages would be unsigned.
   */
  const resume = async (): Promise<string[]> => {
    if (now() < resumeAt) return []
    resumeAt = now() + RESUME_EVERY_MS
    const resumed: string[] = []
    for (const endpoint of await storage.findUndecrypted(holder, ENDPOINTS)) {
      const { endpoint_id } = endpoint
      const secrets = await secretsOf(endpoint)
      if (!secrets || secrets.length === 0) continue
      await storage.updateEndpoint(endpoint_id, (current) => {
        if (current.reason !== 'secret') return current
        resumed.push(endpoint_id)
        return activated(current)
      })
    }
    return resumed
  }

  /**
   * Reads the next audit entries of an endpoint, and creates their messages. Resolves to undefined if
   * the endpoint gets no messages now.
   */
  const read = async (
    { endpoint, position, waiting }: ReadyEndpoint,
    held: Held,
    most: number,
    disabled: string[],
  ) => {
    const { account_id, endpoint_id, failing_since } = endpoint
    const before = held.counts.get(endpoint_id) ?? 0
    const secrets = await secretsOf(endpoint)
    if (!secrets) {
      if (await disable(endpoint_id)) disabled.push(endpoint_id)
      return undefined
    }
    const limit = failing_since === undefined ? most : Math.min(most, MESSAGES_OF_FAILING)
    if (limit <= before || !held.hasRoom(account_id)) return undefined
    const room = Math.min(limit - before, WAITING - waiting)
    const entryLimit = endpoint.store_id === '' ? Math.min(room, ENTRIES) : ENTRIES
    const entries = room > 0 ? await storage.listUnread(endpoint_id, entryLimit) : []
    const messages: NewMessage[] = []
    let until: EndpointReading['read']
    let pages = 0
    for (const { seq, ...entry } of entries) {
      if (messages.length >= room || pages >= REFUND_PAGES || until?.rest) break
      if (!receives(endpoint, entry)) {
        until = { seq, rest: '' }
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
      messages.push(...found.messages.filter(({ type }) => isSelected(endpoint.events, type)))
      pages += found.pages
      until = { seq, rest: found.rest }
    }
    const isAll = until?.rest === '' && entries.at(-1)?.seq === until.seq
    const isMore = entries.length > 0 && (entries.length === entryLimit || !isAll)
    return { endpoint, secrets, position, read: until, messages, entries, limit, before, isMore }
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

  /** Gives up messages whose data is deleted. */
  const giveUp = (messages: readonly StoredMessage[]) =>
    storage.settleMessages({ holder, lease }, messages, (endpoint, waiting) => ({
      endpoint,
      messages: waiting.map((each) => {
        return { ...each, state: 'failed', error: 'The data of the event is gone' }
      }),
    }))

  type Reading = NonNullable<Awaited<ReturnType<typeof read>>>

  /** Claims due messages of an endpoint, as far as there is room. Adds them to `messages` at once. */
  const claimDue = async (
    reading: Reading,
    due: readonly StoredMessage[],
    held: Held,
    messages: OutgoingMessage[],
  ) => {
    const { endpoint, secrets, limit, before } = reading
    const { account_id } = endpoint
    const taken = due.filter((message) => !held.has(message)).slice(0, limit - before)
    const entries = await entriesOf(taken, reading.entries)
    const bodyIn = async (message: StoredMessage) => {
      const entry = entries.get(message.sequence)
      return entry && bodyOf(storage, entry, message)
    }
    const gone: StoredMessage[] = []
    for (let first = 0; first < taken.length && held.hasRoom(account_id); first += BODIES) {
      const group = taken.slice(first, first + BODIES)
      const bodies = await Promise.all(group.map(bodyIn))
      for (const [i, message] of group.entries()) {
        const body = bodies[i]
        if (body === undefined) gone.push(message)
        else if (held.hasRoom(account_id)) {
          const signed = sign(endpoint, secrets, message, body)
          held.add(signed)
          messages.push(signed)
        }
      }
    }
    if (gone.length > 0) await giveUp(gone)
  }

  return {
    async claim(request = {}) {
      const { limit = MESSAGES } = request
      lease = request.lease ?? LEASE_MS
      await check()
      const begun = now()
      const disabled: string[] = []
      const resumed = await resume()
      const held = createHeld(request.held ?? [])
      const found = await findReady(held, limit, begun)
      const isQuiet = ({ last_foreign, waiting }: ReadyEndpoint) =>
        last_foreign !== undefined && waiting === 0
      const quiet = found.filter(isQuiet)
      if (quiet.length > 0) await storage.skipForeign(quiet)
      const ready = found.filter((each) => !isQuiet(each))
      const messages: OutgoingMessage[] = []
      let isMore = quiet.length > 0
      try {
        for (let first = 0; first < ready.length; first += TOGETHER) {
          const group = ready.slice(first, first + TOGETHER)
          const reads = group.map((each) => read(each, held, limit, disabled))
          const readings = (await Promise.all(reads)).filter((each) => each !== undefined)
          if (readings.length === 0) continue
          const due = await storage.takeMessages({ holder, lease }, begun, readings)
          if (!due) break // another process sends
          for (const reading of readings) {
            const own = due.filter((each) => each.endpoint_id === idOf(reading))
            await claimDue(reading, own, held, messages)
            isMore ||= reading.isMore || own.length === reading.limit
            await setImmediate() // the storage may answer without I/O
          }
        }
      } catch (error) {
        if (messages.length + disabled.length + resumed.length === 0) throw error // otherwise, the next call meets the error again
      }
      isMore ||= found.length === ENDPOINTS && messages.length > 0
      return { messages, start_within: Math.floor((lease * 2) / 3), isMore, disabled, resumed }
    },

    async settle(results) {
      if (results.length === 0) return
      const outcomes = new Map(results.map((each) => [messageKey(each), each]))
      const rules = { now: now(), retries, giveUpAfter, random: Math.random }
      await storage.settleMessages({ holder, lease }, results, (endpoint, messages) =>
        settleAttempt(endpoint, messages, outcomes, rules),
      )
      for (const { endpoint_id } of results) {
        const count = unpruned.get(endpoint_id) ?? PRUNE_EVERY
        unpruned.set(endpoint_id, count < PRUNE_EVERY ? count + 1 : 1)
        if (count < PRUNE_EVERY) continue
        await storage.pruneMessages(endpoint_id, now() - LOG_MS, LOG_MESSAGES)
      }
    },

    async release() {
      await storage.endLease(holder)
    },
    onChange: (listener) => storage.onWrite(listener),

    backlog: createBacklog(context),
    countUnconfirmed: () => storage.countUnconfirmed(),
    hasEndpoints: async () => (await storage.listEndpoints({}, { limit: 1 })).records.length > 0,
  }
}

function idOf({ endpoint }: { readonly endpoint: StoredEndpoint }): string {
  return endpoint.endpoint_id
}
