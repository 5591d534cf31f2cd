import { command } from '../command.ts'
import { UsageError } from '../command-errors.ts'
import { COMPLETIONS } from '../completion.ts'

export const completion = command({
  name: 'completion',
  summary: 'Print a script that makes a shell complete commands and options',
  example: 'tillkit completion bash > ~/.local/share/bash-completion/completions/tillkit',
  operand: 'bash|zsh|fish',
  needsNoDatabase: true,
  options: {},
  async run({ operand: shell, output, io }) {
    if (!isShell(shell)) throw new UsageError(`The shell '${shell}' must be bash, zsh or fish`)
    const script = COMPLETIONS[shell]
    if (output.json) output.record({ shell, script })
    else io.stdout.write(script)
  },
})

function isShell(text: string): text is keyof typeof COMPLETIONS {
  return Object.hasOwn(COMPLETIONS, text)
}
