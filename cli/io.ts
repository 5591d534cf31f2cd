import type { Readable, Writable } from 'node:stream'

/** An output stream. A terminal also has its width in `columns`. */
export type OutputStream = Writable & {
  readonly fd?: number
  readonly isTTY?: boolean
  readonly columns?: number
}

export type StopSignal = 'SIGTERM' | 'SIGINT'

type Listen<Event, Argument> = (event: Event, listener: (argument: Argument) => void) => unknown

/** The streams and events of a process. `process` has this type; tests pass their own object. */
export interface Io {
  readonly stdin: Readable
  readonly stdout: OutputStream
  readonly stderr: OutputStream
  readonly on: Listen<StopSignal, StopSignal>
  readonly once: Listen<StopSignal, StopSignal> & Listen<'exit', number>
  readonly off: Listen<StopSignal, StopSignal> & Listen<'exit', number>
}
