import { command } from '../command.ts'

export const keysRotate = command({
  name: 'keys rotate',
  summary: 'Add a key that signs tokens, drop those of no more use',
  options: {},
  async run({ till, output }) {
    output.record(await till.operations.rotateSigningKeys())
  },
})
