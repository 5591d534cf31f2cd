import type { Command, OptionSpec } from './command.ts'
import { optionsOf } from './options.ts'

/** The first word of a command line that asks for the completions of the last of its words. */
export const COMPLETE = '__complete'

/** Stands for the names of files. */
const FILES = ':files'

/** For each shell, the text that makes it complete the command lines of tillkit. */
export const COMPLETIONS = {
  bash: `# Shell completion of tillkit, for ~/.bashrc: eval "$(tillkit completion bash)"
_tillkit() {
  local IFS=$'\\n' found
  found=$(tillkit ${COMPLETE} "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
  if [[ $found == ${FILES} ]]; then
    compopt -o filenames 2>/dev/null
    COMPREPLY=($(compgen -f -- "\${COMP_WORDS[COMP_CWORD]}"))
  else
    COMPREPLY=($(cut -f 1 <<<"$found"))
  fi
}
complete -F _tillkit tillkit
`,
  zsh: `#compdef tillkit
# Shell completion of tillkit, for ~/.zshrc after compinit: eval "$(tillkit completion zsh)"
_tillkit() {
  local -a found
  found=("\${(@f)$(tillkit ${COMPLETE} "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  [[ -n $found[1] ]] || return
  if [[ $found[1] == ${FILES} ]]; then _files; return; fi
  found=("\${(@)found//:/\\\\:}")
  found=("\${(@)found/$'\\t'/:}")
  _describe tillkit found
}
# The completion system autoloads this file as the function.
if [[ $funcstack[1] == _tillkit ]]; then _tillkit; else compdef _tillkit tillkit; fi
`,
  fish: `# Shell completion of tillkit: tillkit completion fish > ~/.config/fish/completions/tillkit.fish
function __tillkit_complete
    set -l words (commandline -opc) (commandline -ct)
    set -l found (tillkit ${COMPLETE} $words[2..] 2>/dev/null)
    if test "$found" = ${FILES}
        __fish_complete_path (commandline -ct)
    else if test -n "$found"
        printf '%s\\n' $found
    end
end
complete -c tillkit -f -a '(__tillkit_complete)'
`,
}

/**
 * Returns the texts that may complete the last of `words`, a line for each. A tab separates the text
 * from its help. The line `:files` stands for the names of files.
 */
export function complete(words: readonly string[], commands: readonly Command[]): string {
  const begun = words.slice(0, -1)
  const typed = words.at(-1) ?? ''
  const command = commands.find(({ name }) => name.split(' ').every((word, i) => begun[i] === word))
  const found = command
    ? completionsOf(command, begun.at(-1) ?? '', typed)
    : nextWords(begun, commands)
  if (found === 'files') return `${FILES}\n`
  const fitting = [...found].filter(([text]) => text.startsWith(typed))
  return fitting.map(([text, help]) => `${text}${help && `\t${help}`}\n`).join('')
}

type Completions = ReadonlyMap<string, string> | 'files'

/** The possible next words of a command line, with their help. */
function nextWords(begun: readonly string[], commands: readonly Command[]): Completions {
  const next = new Map<string, string>()
  for (const { name, summary } of commands) {
    const words = name.split(' ')
    const word = words[begun.length]
    if (word === undefined || !begun.every((each, i) => each === words[i])) continue
    const isWhole = words.length === begun.length + 1
    next.set(word, isWhole ? summary : `commands of ${[...begun, word].join(' ')}`)
  }
  return next
}

/** The values of the option before, the values of the operand, or the options. */
function completionsOf(command: Command, before: string, typed: string): Completions {
  const options = optionsOf(command)
  const option = options[before.replace(/^--/, '')]
  if (before.startsWith('--') && option?.value && option.bare === undefined) return valuesOf(option)
  const { operand = '' } = command
  if (!typed.startsWith('-')) {
    if (/^\[?FILE/.test(operand)) return 'files'
    if (operand.includes('|')) return withoutHelp(operand.split('|')) // `bash|zsh|fish`
  }
  return new Map(Object.entries(options).map(([name, { help }]) => [`--${name}`, help]))
}

function valuesOf({ choices = [], value = '' }: OptionSpec): Completions {
  return value === 'FILE' || value === 'DB' ? 'files' : withoutHelp(choices)
}

function withoutHelp(texts: readonly string[]): Completions {
  return new Map(texts.map((text) => [text, '']))
}
