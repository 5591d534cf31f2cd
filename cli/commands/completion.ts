import { command } from '../command.ts'
import { COMPLETIONS } from '../completion.ts'
import { oneOf } from '../option-values.ts'

const shellOf = oneOf('bash', 'zsh', 'fish')

export const completion = command({
  name: 'completion',
  summary: 'Print a script that makes a shell complete commands and options',
  example: 'tillkit completion bash > ~/.local/share/bash-completion/completions/tillkit',
  operand: 'bash|zsh|fish',
  needsNoDatabase: true,
  options: {},
  async run({ operand, output, io }) {
    const shell = shellOf(operand, `The shell '${operand}'`)
    const script = COMPLETIONS[shell]
    if (output.json) output.record({ shell, script })
    else io.stdout.write(script)
  },
})
