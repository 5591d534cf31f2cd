import { command } from '../command.ts'

export const keysRotate = command({
  name: 'keys rotate',
  summary: 'Add a key that signs tokens, delete keys that no valid token needs',
  example: 'tillkit keys rotate',
  options: {
    'drop-others': {
      help: 'delete all other keys, because one has leaked; all tokens end within 5 seconds',
    },
  },
  async run({ till, options, output }) {
    const drop = options['drop-others'] ? 'others' : 'unneeded'
    output.record(await till.operations.rotateSigningKeys({ drop }))
  },
})
