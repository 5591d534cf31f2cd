import type { EndpointNumber } from './routes.ts'

/** The answer of the server differs from what a check expects. */
export class Mismatch extends Error {
  readonly expected: string
  readonly got: string
  readonly request: string

  constructor(expected: string, got: string, request: string) {
    super(`expected ${expected}, got ${got}`)
    this.expected = expected
    this.got = got
    this.request = request
  }
}

/** A request got no complete answer. */
export class NoAnswer extends Error {
  readonly endpoint: EndpointNumber
  readonly isTimeout: boolean
  request = ''

  constructor(endpoint: EndpointNumber, message: string, isTimeout: boolean) {
    super(message)
    this.endpoint = endpoint
    this.isTimeout = isTimeout
  }
}

/** A check cannot run: a record that it needs could not be created, or the time has run out. */
export class NotRun extends Error {}
