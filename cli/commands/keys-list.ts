import { command } from '../command.ts'

export const keysList = command({
  name: 'keys list',
  summary: 'List the keys that sign tokens, oldest first',
  example: 'tillkit keys list',
  options: {},
  async run({ till, output }) {
    output.table(await till.operations.listSigningKeys(), ['kid', 'created_at'])
  },
})
