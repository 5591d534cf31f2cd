import { command } from '../command.ts'
import { wholeNumber } from '../values.ts'

export const projectRotateKey = command({
  name: 'project rotate-key',
  summary: 'Give a project a new public key',
  options: {
    project: { value: 'ID', required: true, help: 'the project' },
    grace: {
      value: 'SECONDS',
      parse: wholeNumber(0, 2_592_000),
      help: 'how long its former keys still open sessions (default 86400, a day)',
    },
  },
  async run({ till, options, output }) {
    const rotation = { id: options.project, gracePeriod: options.grace && options.grace * 1000 }
    const account = await till.accounts.ownerOf(options.project)
    const { id, public_key } = await till.projects.rotateKey(account, rotation)
    output.record({ id, public_key })
  },
})
