import { command } from '../command.ts'

export const keysRotate = command({
  name: 'keys rotate',
  summary: 'Add a key that signs tokens, drop those of no more use',
  options: {
    'drop-others': { help: 'a key has leaked: end all tokens, within 5 seconds' },
  },
  async run({ till, options, output }) {
    const drop = options['drop-others'] ? 'others' : 'unneeded'
    output.record(await till.operations.rotateSigningKeys({ drop }))
  },
})
