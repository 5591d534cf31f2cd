import { command, Refusal } from '../command.ts'

export const check = command({
  name: 'check',
  summary: 'Look the whole database through for damage',
  options: {},
  async run({ till, output }) {
    const problems = await till.operations.check()
    if (output.json) output.record({ sound: problems.length === 0, problems })
    if (problems.length > 0) throw new Refusal(['Not sound:', ...problems].join('\n  '))
    output.line('The database is sound')
  },
})
