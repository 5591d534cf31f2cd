import { command } from '../command.ts'

export const projectShow = command({
  name: 'project show',
  summary: 'Show a project with its public key',
  operand: 'ID',
  options: {},
  async run({ till, operand, output }) {
    output.record(await till.projects.get(await till.accounts.ownerOf(operand), operand))
  },
})
