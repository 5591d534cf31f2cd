import type { Command, OptionSpec } from './command.ts'
import { optionsOf } from './options.ts'

/** The text that makes a shell complete the commands, options and values of tillkit. */
export const COMPLETIONS = { bash, zsh, fish } satisfies {
  readonly [shell: string]: (commands: readonly Command[]) => string
}

/** The values to offer: fixed words, file names, or none. */
type Values = readonly string[] | 'files' | 'any'

function valuesOf({ choices, value = '' }: OptionSpec): Values {
  return choices ?? (value === 'FILE' || value === 'DB' ? 'files' : 'any')
}

/** The placeholder `FILE|-` means a file, `bash|zsh|fish` means one of three words. */
function valuesOfOperand({ operand = '' }: Command): Values {
  if (operand.startsWith('FILE')) return 'files'
  return operand.includes('|') ? operand.split('|') : 'any'
}

interface Option {
  readonly name: string
  readonly help: string
  /** The values of the option. Undefined if the option needs no value. */
  readonly values: Values | undefined
}

function completedOptions(command: Command): Option[] {
  return Object.entries(optionsOf(command)).map(([name, spec]) => {
    const isFlag = spec.value === undefined || spec.bare !== undefined
    return { name, help: spec.help, values: isFlag ? undefined : valuesOf(spec) }
  })
}

/** Groups the options that take a value by the shell code that completes the value. */
function groupByValues(
  options: readonly Option[],
  format: (values: Values) => string,
): [offer: string, names: string[]][] {
  const groups = new Map<string, string[]>()
  for (const { name, values } of options) {
    if (values === undefined) continue
    const offer = format(values)
    groups.set(offer, [...(groups.get(offer) ?? []), `--${name}`])
  }
  return [...groups]
}

/** Returns, for the first words of each command, the possible next words with their help texts. */
function nextWords(commands: readonly Command[]): Map<string, Map<string, string>> {
  const next = new Map<string, Map<string, string>>()
  for (const { name, summary } of commands) {
    const words = name.split(' ')
    words.forEach((word, i) => {
      const begun = words.slice(0, i).join(' ')
      const known = next.get(begun) ?? new Map<string, string>()
      const help =
        i === words.length - 1 ? summary : `commands of ${words.slice(0, i + 1).join(' ')}`
      next.set(begun, known.set(word, help))
    })
  }
  return next
}

const quote = (text: string) => `'${text.replaceAll("'", "'\\''")}'`

function bash(commands: readonly Command[]): string {
  const groups = [...nextWords(commands)].map(
    ([begun, words]) => `    '${begun} ') words='${[...words.keys()].join(' ')}' ;;`,
  )
  const cases = commands.map((command) => {
    const options = completedOptions(command)
    const operand = valuesOfOperand(command)
    const values = groupByValues(options, bashValues).map(
      ([offer, names]) => `        ${names.join('|')}) ${offer} ;;`,
    )
    const ofOperand =
      operand === 'any' ? [] : [`        *) [[ $cur == -* ]] || { ${bashValues(operand)}; } ;;`]
    return [
      `    '${command.name} '*)`,
      `      words='${options.map(({ name }) => `--${name}`).join(' ')}'`,
      '      case $prev in',
      ...values,
      ...ofOperand,
      '      esac ;;',
    ].join('\n')
  })
  return `# Shell completion of tillkit, for ~/.bashrc: eval "$(tillkit completion bash)"
_tillkit() {
  local IFS=$' \\n' cur=\${COMP_WORDS[COMP_CWORD]} prev=\${COMP_WORDS[COMP_CWORD-1]}
  local line="\${COMP_WORDS[*]:1:COMP_CWORD-1} " words= files=
  case $line in
${groups.join('\n')}
${cases.join('\n')}
  esac
  if [[ $files ]]; then
    compopt -o filenames 2>/dev/null
    IFS=$'\\n'
    COMPREPLY=($(compgen -f -- "$cur"))
  else
    COMPREPLY=($(compgen -W "$words" -- "$cur"))
  fi
}
complete -F _tillkit tillkit
`
}

function bashValues(values: Values): string {
  if (values === 'files') return 'files=1'
  return `words='${values === 'any' ? '' : values.join(' ')}'`
}

function zsh(commands: readonly Command[]): string {
  const entries = (words: readonly (readonly [string, string])[]) =>
    words.map(([word, help]) => `        ${quote(`${word}:${help}`)}`).join('\n')
  const groups = [...nextWords(commands)].map(
    ([begun, words]) => `    ('${begun} ')\n      found=(\n${entries([...words])}\n      ) ;;`,
  )
  const cases = commands.map((command) => {
    const options = completedOptions(command)
    const operand = valuesOfOperand(command)
    const values = groupByValues(options, zshValues).map(
      ([offer, names]) => `        (${names.join('|')}) ${offer}; return ;;`,
    )
    const ofOperand =
      operand === 'any'
        ? []
        : [`        (*) [[ $PREFIX == -* ]] || { ${zshValues(operand)}; return } ;;`]
    return [
      `    ('${command.name} '*)`,
      '      case $prev in',
      ...values,
      ...ofOperand,
      '      esac',
      `      found=(\n${entries(options.map(({ name, help }) => [`--${name}`, help]))}\n      ) ;;`,
    ].join('\n')
  })
  return `#compdef tillkit
# Shell completion of tillkit, for ~/.zshrc after compinit: eval "$(tillkit completion zsh)"
_tillkit() {
  local line="\${(j: :)words[2,CURRENT-1]} " prev=\${words[CURRENT-1]}
  local -a found
  case $line in
${groups.join('\n')}
${cases.join('\n')}
  esac
  _describe tillkit found
}
# The completion system autoloads this file as the function.
if [[ $funcstack[1] == _tillkit ]]; then _tillkit; else compdef _tillkit tillkit; fi
`
}

function zshValues(values: Values): string {
  if (values === 'files') return '_files'
  return values === 'any' ? ':' : `compadd -- ${values.map(quote).join(' ')}`
}

function fish(commands: readonly Command[]): string {
  const quoted = (text: string) => `'${text.replaceAll(/['\\]/g, '\\$&')}'`
  const at = (pattern: string) => `complete -c tillkit -n "__tillkit_at '${pattern}'"`
  const groups = [...nextWords(commands)].flatMap(([begun, words]) =>
    [...words].map(([word, help]) => `${at(`${begun} `)} -a ${word} -d ${quoted(help)}`),
  )
  const options = commands.flatMap((command) => {
    const here = at(`${command.name} *`)
    const operand = valuesOfOperand(command)
    return [
      ...(operand === 'any' ? [] : [`${here} ${fishValues(operand, '')}`]),
      ...completedOptions(command).map(({ name, help, values }) => {
        const takes = values === undefined ? '' : ` ${fishValues(values, '-r ')}`
        return `${here} -l ${name}${takes} -d ${quoted(help)}`
      }),
    ]
  })
  return `# Shell completion of tillkit: tillkit completion fish > ~/.config/fish/completions/tillkit.fish
function __tillkit_at
    set -l words (commandline -opc)
    set -e words[1]
    string match -q -- $argv[1] "$words "
end
complete -c tillkit -f
${groups.join('\n')}
${options.join('\n')}
`
}

function fishValues(values: Values, required: string): string {
  if (values === 'files') return `${required}-F`
  return values === 'any' ? `${required}-f` : `${required}-f -a '${values.join(' ')}'`
}
