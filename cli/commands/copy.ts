import { copyStorage } from '../../lib/index.ts'
import { command, UsageError } from '../command.ts'
import { openStorage } from '../open.ts'
import { createLine } from '../progress.ts'

export const copy = command({
  name: 'copy',
  summary: 'Copy everything into another database, and compare the two',
  databaseOption: 'from',
  options: {
    from: { value: 'DB', required: true, help: 'the database to read' },
    to: {
      value: 'DB',
      required: true,
      help: 'an empty one, or the one of a copy that was cut off',
    },
  },
  async run({ storage, options, output }) {
    if (options.from === options.to) throw new UsageError('--from and --to are the same database')
    const target = await openStorage(options.to, { create: true, forCopy: true })
    const line = createLine(process.stderr)
    try {
      const inventory = await copyStorage(storage, target, (step, kind, count) => {
        line.update(() => `${step} ${kind}: ${count.toLocaleString('en-US')}`)
      })
      line.end()
      output.record({ ...inventory.counts, checksum: inventory.checksum })
    } finally {
      line.end()
      await target.close()
    }
  },
})
