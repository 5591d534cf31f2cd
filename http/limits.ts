import { getHeapStatistics } from 'node:v8'

const MAX_MEMORY = 512 * 1024 ** 2

/** All limits of the server. Times are in milliseconds, sizes in bytes. */
export const limits = {
  /**
   * Open connections; more are closed at once. Each takes about 6 KiB. 20,000 simultaneous requests
   * are answered within two seconds.
   */
  connections: 20_000,
  /**
   * Requests in flight; more are 503. Each kind has its own limit, so clients that send bodies slowly
   * can block other writes at worst, but never reads.
   */
  readsInFlight: 1_000,
  writesInFlight: 1_000,
  /** Imports; each uses a temporary file. Imports into one store run one after another. */
  uploadsInFlight: 32,
  /** Requests whose credential is being verified; no other limit counts them at that time. */
  verificationsInFlight: 1_000,
  /** The percentage of each of these limits for one account; of verifications, for one address. */
  accountShare: 50,
  /**
   * Imports of one project. Without this limit, waiting imports of clients with one public key could
   * use the whole share of its account.
   */
  uploadsOfProject: 4,
  /** Pipelined requests that wait on one connection; more close it. */
  pipelined: 100,
  /** All headers of a request together; more is 431. */
  headerBytes: 16 * 1024,
  headersTimeout: 10_000,
  /** The body of a JSON endpoint; more is 413, slower is 408. */
  jsonBytes: 256 * 1024,
  jsonTimeout: 30_000,
  /** Values in a JSON body, keys included; more is 400. 64 KiB of `meta` may hold 32,768 of them. */
  jsonValues: 33_000,
  /**
   * Levels of nesting in a JSON body; more is 400. Twice the 32 that `meta` and `config` may have, so
   * for most bodies the library's error names the field.
   */
  jsonDepth: 64,
  /** The body of an import; more is 413. */
  uploadBytes: 1024 ** 3,
  /** Time between two chunks of an upload; longer is 408. */
  uploadIdleTimeout: 30_000,
  /** A form part other than the file. */
  fieldBytes: 4 * 1024,
  formParts: 20,
  /** Reserved for the buffers and rows of an import while it is in flight. */
  uploadMemory: 4 * 1024 ** 2,
  /**
   * Memory for bodies, parsed values, imports and unsent answers: half of the heap, at most 512 MiB.
   * Requests may use half of it; more are 503. When all of it is used, the clients with the most
   * unsent bytes are disconnected.
   */
  memoryBytes: Math.min(MAX_MEMORY, getHeapStatistics().heap_size_limit / 2),
  /** A problem document; the errors that do not fit are left out. */
  problemBytes: 64 * 1024,
  /** A whole request, including a slow upload. */
  requestTimeout: 3_600_000,
  /** How long a client may read nothing of its answer. */
  answerTimeout: 30_000,
  /**
   * Longer than most proxies keep an idle connection (60 s). The proxy must close it first, or a
   * request that it has just sent is lost.
   */
  keepAliveTimeout: 75_000,
  /** Bytes of an unwanted body that are read and discarded, so that its sender gets the answer. */
  discardBytes: 16 * 1024 ** 2,
  discardTimeout: 5_000,
  /** How long a stopping server still accepts requests, until load balancers see `/readyz` fail. */
  drainDelay: 0,
  /** How long a stopping server keeps idle connections: a request may be on its way. */
  stopIdleTimeout: 500,
  /** How long a stopping server waits for requests in flight. */
  stopTimeout: 9_000,
} as const

export type Limits = { readonly [K in keyof typeof limits]: number }
