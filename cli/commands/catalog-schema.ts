import { CATALOG_SCHEMA } from '../../lib/index.ts'
import { command } from '../command.ts'

export const catalogSchema = command({
  name: 'catalog schema',
  summary: 'Print the JSON Schema of a catalog file',
  example: 'tillkit catalog schema',
  needsNoDatabase: true,
  options: {},
  async run({ io }) {
    io.stdout.write(`${JSON.stringify(CATALOG_SCHEMA, null, 2)}\n`)
  },
})
