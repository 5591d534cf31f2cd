/** Every bound that the server sets, in one place. Times in milliseconds, sizes in bytes. */
export const limits = {
  /**
   * Open connections; more are closed at once. One takes some 6 KiB, and each must have its turn:
   * 20,000 that all ask at the same moment are answered within two seconds.
   */
  connections: 20_000,
  /**
   * Requests in flight; one more is 503. Each sort has its own bound: who sends bodies slowly can
   * then keep others from writing at worst, and never from reading.
   */
  readsInFlight: 1_000,
  writesInFlight: 1_000,
  /** Imports; each takes a temporary file, and those into one store wait for one another. */
  uploadsInFlight: 32,
  /** Those of one project. */
  uploadsOfProject: 4,
  /** All request headers together; more is 431. */
  headerBytes: 16 * 1024,
  headersTimeout: 10_000,
  /** The body of a JSON endpoint; more is 413, slower is 408. */
  jsonBytes: 256 * 1024,
  jsonTimeout: 30_000,
  /** The body of an import; more is 413. */
  uploadBytes: 1024 ** 3,
  /** Silence within an upload; longer is 408. */
  uploadIdleTimeout: 30_000,
  /** A form part that is not the file. */
  fieldBytes: 4 * 1024,
  formParts: 20,
  /** A whole request, an upload on a slow line among them. */
  requestTimeout: 3_600_000,
  /** How long a client may take nothing of its answer. */
  answerTimeout: 30_000,
  /** Answers that their clients have not taken yet; past it who has the most is cut off. */
  unsentBytes: 512 * 1024 ** 2,
  keepAliveTimeout: 5_000,
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
