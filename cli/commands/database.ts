import { command } from '../command.ts'
import { CommandFailure, UsageError } from '../command-errors.ts'
import { PAGE_OPTIONS, PASSWORD } from '../options.ts'
import { createOutputFile, databaseFiles } from '../output-file.ts'
import { createStatusLine, withElapsed } from '../progress.ts'
import { interruptible } from '../signals.ts'
import { formatValue } from '../text.ts'

export const databaseCommands = [
  command({
    name: 'upgrade',
    summary: 'Upgrade the database of an earlier tillkit',
    description: 'Make a backup first: the earlier version cannot open the database afterwards.',
    example: 'tillkit upgrade --db tillkit.db',
    upgradesDatabase: true,
    options: {},
    async run({ output, storage, io }) {
      for (const repair of storage.repairs ?? []) io.stderr.write(`tillkit: ${repair}\n`)
      if (output.json) output.record({ upgraded: true })
      output.line('The database is up to date')
    },
  }),

  command({
    name: 'audit list',
    summary: 'List who changed what and when, oldest first',
    example: 'tillkit audit list --account acc_1 --limit 20',
    options: {
      account: { value: 'ID', help: 'only entries of this account' },
      follow: { help: 'print a cursor that continues later, also after the last page' },
      ...PAGE_OPTIONS,
    },
    async run({ till, input: { follow, ...query }, output }) {
      const page = follow
        ? await till.operator.followAudit(query)
        : await till.operator.listAudit(query)
      const columns = ['at', 'actor', 'action', 'subject', 'account_id', 'request_id']
      const narrowing = ['request_id', 'account_id', 'actor…', 'at…']
      const more = follow ? 'To continue: --follow' : undefined
      output.page(page, page.entries, columns, narrowing, more)
    },
  }),

  command({
    name: 'audit archive',
    summary: 'Move old audit entries into a file, also while a server runs',
    example: 'tillkit audit archive --before 2026-01-01 --out audit-2025.jsonl',
    options: {
      before: { value: 'TIME', required: true, help: 'a time or a day, at least one hour ago' },
      out: { value: 'FILE', required: true, help: 'a new file' },
    },
    async run({ till, options: { before, out }, inputs, io }) {
      createOutputFile({ io, inputs }, '--out', out)
      const line = createStatusLine(io.stderr)
      const onProgress = (archived: number) =>
        line.update(() => `archived: ${archived.toLocaleString('en-US')}`)
      const outcome = `${out} is not complete: repeat the command with another file to continue`
      const archived = await interruptible(io, outcome, (signal) =>
        till.operator.archiveAudit({ before, file: out }, { onProgress, signal }),
      ).finally(line.end)
      return archived === 0 ? { archived } : { archived, file: out }
    },
  }),

  command({
    name: 'backup',
    summary: 'Copy the database into a new file, also while a server runs',
    example: 'tillkit backup till-backup.db',
    operand: 'FILE',
    options: {},
    async run({ till, operand, inputs, output, db, io }) {
      createOutputFile({ io, inputs }, 'FILE', operand)
      await withElapsed(io.stderr, 'Copying', () => till.operator.backup(operand))
      output.record({ backup: operand })
      const files = databaseFiles(db).map(formatValue).join(', ')
      output.line(
        `To restore it: stop the servers, move ${files} away (if they exist), copy the backup to ${formatValue(db)}, start the servers`,
      )
    },
  }),

  command({
    name: 'copy',
    summary: 'Copy all data into another database, and compare the two',
    example: 'tillkit copy --from tillkit.db --to postgres://till@localhost/till',
    databaseOption: 'from',
    options: {
      from: {
        value: 'DB',
        required: true,
        variable: 'TILLKIT_DB',
        secret: PASSWORD,
        help: 'the database to read',
      },
      to: {
        value: 'DB',
        required: true,
        secret: { ...PASSWORD, instead: 'PGPASSWORD' },
        help: 'an empty database, or a new file',
      },
    },
    async run({ storage, options, io }) {
      if (options.from === options.to) throw new UsageError('--from and --to are the same database')
      const { copyStorage, openStorage } = await import('../database.ts')
      const copied = await openStorage(options.to, { create: true, upgrade: false })
      const line = createStatusLine(io.stderr)
      try {
        const inventory = await copyStorage(storage, copied, (step, kind, count) => {
          line.update(() => `${step} ${kind}: ${count.toLocaleString('en-US')}`)
        }).finally(line.end)
        return { ...inventory.counts, checksum: inventory.checksum }
      } catch (error) {
        await copied.discard?.()
        throw error
      } finally {
        await copied.close()
      }
    },
  }),

  command({
    name: 'check',
    summary: 'Check the whole database for damage',
    example: 'tillkit check --db till-backup.db',
    options: {},
    async run({ till, output, io }) {
      const problems = await withElapsed(io.stderr, 'Checking', till.operator.check)
      if (output.json) output.record({ sound: problems.length === 0, problems })
      if (problems.length > 0) throw new CommandFailure(['Not sound:', ...problems].join('\n  '))
      output.line('The database is sound')
    },
  }),
]
