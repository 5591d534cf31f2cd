/** What the sender of webhooks needs. It takes no caller: the sender serves all accounts. */
export interface Outbox {
  /**
   * Leases endpoints with due messages to a holder, and returns the messages. No other holder gets
   * an endpoint until its lease ends. A second call of the same holder renews its leases and never
   * returns a message that the holder has and could still send.
   */
  claim(request: ClaimRequest): Promise<Claim>
  /**
   * Writes the outcomes of attempts, in one batch. Renews the leases of their endpoints. Ignores
   * results of messages that another holder has claimed meanwhile.
   */
  settle(holder: string, results: readonly AttemptResult[]): Promise<void>
  /** Ends all leases of a holder, and returns its messages that have no result. For a clean stop. */
  release(holder: string): Promise<void>
  /**
   * Calls the listener after this process has committed a change, at most once in a turn of the
   * event loop. Returns a function that removes it.
   */
  onChange(listener: () => void): () => void
  /** Counts endpoints and their lag, for metrics. Reads at most 1,000 endpoints. */
  backlog(): Promise<Backlog>
}

export interface ClaimRequest {
  /** A random name of the sender, another one for each process and start. */
  readonly holder: string
  /** Endpoints of which the holder has enough messages. They are not claimed again. */
  readonly except?: readonly string[] | undefined
  /** The most messages for one endpoint; default 100. A failing endpoint gets at most 10. */
  readonly limit?: number | undefined
  /** Milliseconds of the lease; default 45,000. */
  readonly lease?: number | undefined
}

export interface Claim {
  readonly messages: readonly OutgoingMessage[]
  /**
   * Milliseconds after the call of `claim` in which an attempt may start. Drop the messages that
   * were not sent by then, or return them by `released`: another holder may get them.
   */
  readonly start_within: number
  /** Milliseconds until `claim` may find more without a new change; 0 when there is more now. */
  readonly next: number
}

/** A signed message. Send it by POST; the sender adds no further header that is signed. */
export interface OutgoingMessage {
  readonly endpoint_id: string
  readonly sequence: number
  /** 0, or the number of the part. With the two fields above, identifies the message. */
  readonly part: number
  /** The number of this attempt, from 1. */
  readonly attempt: number
  readonly url: string
  /** Lower-case names: `content-type`, `webhook-id`, `webhook-timestamp`, `webhook-signature`. */
  readonly headers: { readonly [name: string]: string }
  /** JSON, at most 64 KiB. */
  readonly body: string
}

/** The outcome of an attempt: an answer with a `status`, an `error`, or `released` without one. */
export interface AttemptResult extends Pick<OutgoingMessage, 'endpoint_id' | 'sequence' | 'part'> {
  /** The HTTP status. 2xx: delivered. 410: disables the endpoint. Any other: retried. */
  readonly status?: number | undefined
  /** Why there was no answer: `timeout`, `address`, `ECONNREFUSED`, …; at most 200 characters. */
  readonly error?: string | undefined
  /** True for a message that was not sent. It is due again at once, and counts as no attempt. */
  readonly released?: boolean | undefined
  /** Milliseconds of `Retry-After`. The whole endpoint waits as long, at most six hours. */
  readonly retry_after?: number | undefined
  readonly duration_ms?: number | undefined
  /** The answer's text, cut to 4 KiB. Kept only for an answer that is not 2xx. */
  readonly answer?: string | undefined
}

export interface Backlog {
  /** The numbers of endpoints by state. */
  readonly endpoints: {
    readonly [State in 'active' | 'unconfirmed' | 'paused' | 'disabled']: number
  }
  /** The active endpoints whose last attempt failed. */
  readonly failing: number
  /** The sum of the lags of the active endpoints. Each is counted up to 10,000. */
  readonly lag: number
  /** The age in seconds of the oldest change that an active endpoint has not received. */
  readonly lag_seconds: number
}
