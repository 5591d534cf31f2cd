import { command } from '../command.ts'
import { interruptible } from '../interrupt.ts'
import { createLine } from '../progress.ts'
import { createTarget, databaseFiles } from '../target.ts'

export const auditArchive = command({
  name: 'audit archive',
  summary: 'Move old audit entries into a file, also while serving',
  options: {
    before: {
      value: 'TIME',
      required: true,
      help: 'entries before this time or day (2026-01-31), at least one hour ago',
    },
    out: {
      value: 'FILE',
      required: true,
      help: 'append JSON lines to it: a new file, or one of an earlier archive to go on with',
    },
  },
  async run({ till, options, output, db }) {
    const { before, out } = options
    createTarget('--out', out, databaseFiles(db))
    const line = createLine(process.stderr)
    const onProgress = (archived: number) =>
      line.update(() => `archived: ${archived.toLocaleString('en-US')}`)
    try {
      const outcome = `the archive is not complete: repeat the command to go on with ${out}`
      const archived = await interruptible(outcome, (signal) =>
        till.operations.archiveAudit({ before, file: out }, { onProgress, signal }),
      )
      line.end()
      output.record({ archived, file: out })
    } finally {
      line.end()
    }
  },
})
