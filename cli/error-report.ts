import { createReadStream } from 'node:fs'
import type { ErrorDetail, LayoutFile } from '../lib/index.ts'
import type { Invocation } from './command.ts'
import { UsageError } from './command-errors.ts'
import { createOutputFile } from './output-file.ts'

/** Collects the mistakes of an import for `--report`. */
export function createErrorReport(
  writing: Pick<Invocation, 'io' | 'inputs'>,
  file: string,
  report: string,
  layout: LayoutFile | undefined,
) {
  if (file === '-') throw new UsageError('--report needs a file: standard input is read only once')
  const output = createOutputFile(writing, '--report', report)
  const mistakes = new Map<number, readonly ErrorDetail[]>()
  // Lines with equal mistakes share one array of them: a million arrays would take 470 MiB.
  const shared = new Map<string, readonly ErrorDetail[]>()
  return {
    add({ line = 1, ...mistake }: ErrorDetail): void {
      const all = [...(mistakes.get(line) ?? []), mistake]
      const key = JSON.stringify(all)
      if (!shared.has(key)) shared.set(key, all)
      mistakes.set(line, shared.get(key) ?? all)
    },
    /**
     * Writes the report if there were mistakes. Reads the file again to get the cells of bad rows.
     */
    async write(): Promise<void> {
      if (mistakes.size === 0) return
      const { formatErrorReport } = await import('./file-formats.ts')
      await output.write(formatErrorReport(createReadStream(file), mistakes, layout))
      writing.io.stderr.write(`Bad rows in ${report}: ${mistakes.size.toLocaleString('en-US')}\n`)
    },
  }
}
