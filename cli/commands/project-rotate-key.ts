import { command } from '../command.ts'
import { wholeNumber } from '../option-values.ts'
import { accountOf, PROJECT_OPTIONS } from '../options.ts'

export const projectRotateKey = command({
  name: 'project rotate-key',
  summary: 'Give a project a new public key',
  example: 'tillkit project rotate-key --project prj_1 --grace 3600',
  options: {
    ...PROJECT_OPTIONS,
    grace: {
      value: 'SECONDS',
      parse: wholeNumber(0, 2_592_000),
      help: 'how long the previous keys stay valid (default 86400, a day)',
    },
  },
  async run({ till, options, output }) {
    const rotation = { id: options.project, gracePeriod: options.grace && options.grace * 1000 }
    const account = await accountOf(till, options)
    const { id, public_key } = await till.projects.rotateKey(account, rotation)
    output.record({ id, public_key })
  },
})
