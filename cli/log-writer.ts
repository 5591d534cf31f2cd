import type { Io } from './io.ts'

/**
 * Collects the log lines of one event-loop turn, and writes them to stderr together. Under load,
 * one write for each line takes more time than all other work of the CLI for a request.
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
