import { getHeapStatistics } from 'node:v8'

const MAX_MEMORY = 512 * 1024 ** 2

/** Every bound that the server sets, in one place. Times in milliseconds, sizes in bytes. */
export const limits = {
  /**
   * Open connections; more are closed at once. One takes some 6 KiB, and each must have its turn:
   * 20,000 that all ask at the same moment are answered within two seconds.
   */
  connections: 20_000,
  /**
   * Requests in flight; one more is 503. Each kind has its own limit: who sends bodies slowly can
   * then keep others from writing at worst, and never from reading.
   */
  readsInFlight: 1_000,
  writesInFlight: 1_000,
  /** Imports; each takes a temporary file, and those into one store wait for one another. */
  uploadsInFlight: 32,
  /** Requests whose credential is being verified; they count under no other limit meanwhile. */
  verificationsInFlight: 1_000,
  /** Percent of each of these that one account holds; of verifications, one address. */
  accountShare: 50,
  /**
   * Imports of one project. Those into one store wait for one another: without this limit, clients
   * with the public key of one project would take the whole share of its account.
   */
  uploadsOfProject: 4,
  /** Requests of one connection that wait for the answer ahead of them; more close it. */
  pipelined: 100,
  /** All request headers together; more is 431. */
  headerBytes: 16 * 1024,
  headersTimeout: 10_000,
  /** The body of a JSON endpoint; more is 413, slower is 408. */
  jsonBytes: 256 * 1024,
  jsonTimeout: 30_000,
  /**
   * Values in a JSON body, keys among them; more is 400. An object of 64 KiB, the most that `meta`
   * and `config` may have, has room for 32,768.
   */
  jsonValues: 33_000,
  /**
   * Levels of a JSON body; more is 400. Twice the 32 that `meta` and `config` may have: of most that
   * nest too deep the library can then name the field.
   */
  jsonDepth: 64,
  /** The body of an import; more is 413. */
  uploadBytes: 1024 ** 3,
  /** Silence within an upload; longer is 408. */
  uploadIdleTimeout: 30_000,
  /** A form part that is not the file. */
  fieldBytes: 4 * 1024,
  formParts: 20,
  /** Reserved for the buffers and rows of an import while it is in flight. */
  uploadMemory: 4 * 1024 ** 2,
  /**
   * Bodies, parsed values, imports and unsent answers together: half of the heap, at most 512 MiB.
   * Requests have at most half of it and are 503 past that; past all of it the clients that have
   * the most unsent are cut off.
   */
  memoryBytes: Math.min(MAX_MEMORY, getHeapStatistics().heap_size_limit / 2),
  /** A problem document; errors past it are left out. */
  problemBytes: 64 * 1024,
  /** A whole request, an upload on a slow line among them. */
  requestTimeout: 3_600_000,
  /** How long a client may take nothing of its answer. */
  answerTimeout: 30_000,
  /**
   * Longer than proxies keep an idle connection (60 s, mostly): of two that close it, the proxy must
   * be the first, or a request that it has just sent is lost.
   */
  keepAliveTimeout: 75_000,
  /**
   * What is read and thrown away of a body that nobody wants, so that its sender sees the answer.
   */
  discardBytes: 16 * 1024 ** 2,
  discardTimeout: 5_000,
  /** How long a stop still serves while `/readyz` is 503, so that a balancer takes it out first. */
  drainDelay: 0,
  /** How long a stop leaves open what is idle: its next request may be on its way. */
  stopIdleTimeout: 500,
  /** How long a stop waits for requests in flight. */
  stopTimeout: 9_000,
} as const

export type Limits = { readonly [K in keyof typeof limits]: number }
