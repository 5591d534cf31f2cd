import type { Io } from './io.ts'

/**
 * Writes the log lines of one event-loop turn to stderr together. Under load, a write for each line
 * takes more time than everything else that the CLI adds to a request.
 */
export function createLogWriter(io: Io): (line: string) => void {
  let lines: string[] = []
  const flush = () => {
    if (lines.length > 0) io.stderr.write(`${lines.join('\n')}\n`)
    lines = []
  }
  io.once('exit', flush)
  return (line) => {
    if (lines.length === 0) setImmediate(flush)
    lines.push(line)
  }
}
