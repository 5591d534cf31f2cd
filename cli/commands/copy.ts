import { copyStorage } from '../../lib/index.ts'
import { command } from '../command.ts'
import { UsageError } from '../command-errors.ts'
import { openStorage } from '../database.ts'
import { createStatusLine } from '../progress.ts'

export const copy = command({
  name: 'copy',
  summary: 'Copy all data into another database, and compare the two',
  example: 'tillkit copy --from tillkit.db --to postgres://till@localhost/till',
  databaseOption: 'from',
  options: {
    from: { value: 'DB', required: true, help: 'the database to read' },
    to: { value: 'DB', required: true, help: 'an empty database, or that of an unfinished copy' },
  },
  async run({ storage, options, output, io }) {
    if (options.from === options.to) throw new UsageError('--from and --to are the same database')
    const target = await openStorage(options.to, { create: true, forCopy: true, upgrade: false })
    const line = createStatusLine(io.stderr)
    try {
      const inventory = await copyStorage(storage, target, (step, kind, count) => {
        line.update(() => `${step} ${kind}: ${count.toLocaleString('en-US')}`)
      }).finally(line.end)
      output.record({ ...inventory.counts, checksum: inventory.checksum })
    } finally {
      await target.close()
    }
  },
})
