import { once } from 'node:events'
import { CommandFailure, UsageError } from './command-errors.ts'
import type { Io } from './io.ts'

/**
 * Asks on a terminal before a command removes data. Throws unless the answer is `expected`; without
 * a terminal, asks for the option `--yes`.
 */
export async function confirm(io: Io, warning: string, question: string, expected: string) {
  const { isTTY } = io.stdin as { readonly isTTY?: boolean }
  if (!isTTY || !io.stderr.isTTY) throw new UsageError(`${warning}: confirm it with --yes`)
  const { createInterface } = await import('node:readline')
  const lines = createInterface({ input: io.stdin, output: io.stderr })
  const ended = once(lines, 'close').then(() => [''])
  lines.setPrompt(`${warning}. ${question}: `)
  lines.prompt()
  const [answer] = await Promise.race([once(lines, 'line'), ended])
  lines.close()
  if (answer !== expected) throw new CommandFailure('Nothing was changed: the answer differs')
}
