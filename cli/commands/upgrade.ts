import { command } from '../command.ts'

export const upgrade = command({
  name: 'upgrade',
  summary: 'Upgrade the database of an earlier tillkit',
  description: 'Make a backup first: the earlier version cannot open the database afterwards.',
  example: 'tillkit upgrade --db tillkit.db',
  upgradesDatabase: true,
  options: {},
  async run({ output }) {
    if (output.json) output.record({ upgraded: true })
    output.line('The database is up to date')
  },
})
