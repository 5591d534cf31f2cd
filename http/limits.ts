import { getHeapStatistics } from 'node:v8'

const MAX_MEMORY = 512 * 1024 ** 2

/** All limits of the server. Times are in milliseconds, sizes in bytes. */
export const limits = {
  /**
   * The maximum number of open connections; further ones are closed at once. Each takes about 6
   * KiB. If all of them send a request at once, the server answers within two seconds.
   */
  connections: 20_000,
  /**
   * The maximum numbers of requests in flight; further ones get 503. Reads and writes have separate
   * limits, so clients that send bodies slowly cannot block reads.
   */
  readsInFlight: 1_000,
  writesInFlight: 1_000,
  /** The maximum number of imports in flight. Imports into the same store run one by one. */
  uploadsInFlight: 32,
  /**
   * The maximum number of slow requests of the management API in flight: searches, summaries,
   * exports, catalogs, the undo of an import and the erasure of a user.
   */
  reportsInFlight: 16,
  /** The maximum number of requests whose credential is being verified; further ones get 503. */
  verificationsInFlight: 1_000,
  /**
   * The percentage of a limit on requests or memory that one account may use. For
   * `verificationsInFlight`, it is the percentage that one address may use.
   */
  accountShare: 50,
  /**
   * The maximum number of imports in flight of one project. Without this limit, clients with the
   * project's public key could use up the whole share of its account.
   */
  uploadsOfProject: 4,
  /**
   * The maximum number of changes of one project with tokens from its public key in
   * `changesWindow`; further ones get 429. Anyone may have such a token, and each change takes space
   * on the disk.
   */
  changesOfProject: 20,
  changesWindow: 10_000,
  /** The maximum number of pipelined requests that wait on a connection; one more closes it. */
  pipelined: 100,
  /** The maximum bytes of all headers of a request together; more gets 431. */
  headerBytes: 16 * 1024,
  headersTimeout: 10_000,
  /** The maximum bytes of a JSON body; more gets 413. */
  jsonBytes: 256 * 1024,
  /** The maximum milliseconds until a JSON body has arrived; a slower one gets 408. */
  jsonTimeout: 30_000,
  /** The maximum values and keys in a JSON body; more gets 400. `meta` may have 32,768 of them. */
  jsonValues: 33_000,
  /**
   * The maximum levels of nesting in a JSON body; more gets 400. `meta` and `config` may have 32.
   * The limit is twice that, so that usually the library reports the error, with the field's name.
   */
  jsonDepth: 64,
  /** The maximum bytes in the body of an import; more gets 413. */
  uploadBytes: 1024 ** 3,
  /** The maximum milliseconds between two chunks of an upload; a longer pause gets 408. */
  uploadIdleTimeout: 30_000,
  /** The maximum bytes of a form field other than the file. */
  fieldBytes: 4 * 1024,
  formParts: 20,
  /** Bytes of memory that an import reserves for its buffers and rows. */
  uploadMemory: 4 * 1024 ** 2,
  /**
   * The maximum bytes of memory for bodies, parsed values, imports and unsent answers: half of the
   * heap, at most 512 MiB. Requests may use half of them; further requests get 503. When all are
   * used, the clients with the most unsent bytes are disconnected.
   */
  memoryBytes: Math.min(MAX_MEMORY, getHeapStatistics().heap_size_limit / 2),
  /** The maximum milliseconds for the arrival of a whole request, such as a slow upload. */
  requestTimeout: 3_600_000,
  /** A client that reads nothing of its answer for this many milliseconds is disconnected. */
  answerTimeout: 30_000,
  /**
   * Milliseconds before the server closes an idle connection. This is longer than the 60 s after
   * which most proxies close theirs: if the server closes first, a request on its way is lost.
   */
  keepAliveTimeout: 75_000,
  /**
   * The maximum bytes of an unwanted body to read and discard, so that its sender gets the answer.
   */
  discardBytes: 16 * 1024 ** 2,
  discardTimeout: 5_000,
  /**
   * Milliseconds for which a stopping server still accepts connections, until load balancers notice
   * that `/readyz` fails.
   */
  drainDelay: 0,
  /**
   * Milliseconds for which a stopping server keeps idle connections, because a request may be on
   * its way.
   */
  stopIdleTimeout: 500,
  /** The maximum milliseconds for which a stopping server waits for requests in flight. */
  stopTimeout: 9_000,
} as const

export type Limits = { readonly [K in keyof typeof limits]: number }
