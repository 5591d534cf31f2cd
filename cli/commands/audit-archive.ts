import { command } from '../command.ts'
import { createOutputFile, databaseFiles } from '../output-file.ts'
import { createStatusLine } from '../progress.ts'
import { interruptible } from '../signals.ts'

export const auditArchive = command({
  name: 'audit archive',
  summary: 'Move old audit entries into a file, also while a server runs',
  example: 'tillkit audit archive --before 2026-01-01 --out audit-2025.jsonl',
  options: {
    before: { value: 'TIME', required: true, help: 'a time or a day, at least one hour ago' },
    out: { value: 'FILE', required: true, help: 'a new file, or an earlier archive to extend' },
  },
  async run({ till, options, output, db, io }) {
    const { before, out } = options
    createOutputFile(io, '--out', out, databaseFiles(db))
    const line = createStatusLine(io.stderr)
    const onProgress = (archived: number) =>
      line.update(() => `archived: ${archived.toLocaleString('en-US')}`)
    const outcome = `the archive is not complete: repeat the command to continue ${out}`
    const archived = await interruptible(io, outcome, (signal) =>
      till.operations.archiveAudit({ before, file: out }, { onProgress, signal }),
    ).finally(line.end)
    output.record({ archived, file: out })
  },
})
