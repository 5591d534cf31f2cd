import type { Command, OptionSpec, OptionSpecs } from './command.ts'
import { VARIABLES } from './config.ts'
import { COMMON_OPTIONS, optionsOf } from './options.ts'
import { hint, PROGRAM } from './program.ts'
import { wrap } from './text.ts'

const TITLE = `tillkit: a commerce back end for games and applications

Usage: ${hint('COMMAND [options]')}`

/** The commands that a first shop needs. */
const FIRST_COMMANDS = [
  'serve',
  'account create',
  'project create',
  'store create',
  'item create',
  'purchases import',
  'purchases record',
  'purchases owned',
  'purchases refund',
  'catalog export',
  'catalog apply',
  'token issue',
  'backup',
]

/** Formats what the program prints without a command: a screen, not the whole help. */
export function formatFirstScreen(commands: readonly Command[]): string {
  const listed = commands.filter(({ name }) => FIRST_COMMANDS.includes(name))
  const all = commands.length
  return `${TITLE}

${columns(listed.map(({ name, summary }) => [name, summary]))}

Try it with a demo shop:  ${hint('serve --demo --console')}
Describe a command:       ${hint('COMMAND --help')}
List all ${all} commands:     ${hint('--help')}`
}

/** Formats the help of the whole program. */
export function formatProgramHelp(groups: {
  readonly [title: string]: readonly Command[]
}): string {
  const names = Object.values(groups).flatMap((commands) => commands.map(({ name }) => name))
  const indent = Math.max(...names.map((name) => name.length)) + 4
  const sections = Object.entries(groups).map(([title, commands]) => {
    const rows = commands.map(({ name, summary }) => [name, summary] as const)
    return `${title}:\n${columns(rows, indent)}`
  })
  return `${TITLE}

${sections.join('\n\n')}

Common options:
${formatOptions(COMMON_OPTIONS)}

Environment variables; an option wins:
${columns(Object.entries(VARIABLES))}

Exit code: 0 done; 1 failed; 2 wrong usage: a mistake in the command line, or a
file in it that cannot be read or written; 130 interrupted.
The reason is on stderr, or with --json as a JSON document on stdout.
\`${hint('COMMAND --help')}\` describes a command.`
}

/** Formats the help of the commands with the same first words: `account`, `account keys`. */
export function formatGroupHelp(begun: string, commands: readonly Command[]): string {
  return `Usage: ${hint(`${begun} COMMAND [options]`)}

${columns(commands.map(({ name, summary }) => [name, summary]))}

\`${hint('COMMAND --help')}\` describes a command.`
}

/** Formats the help of one command. */
export function formatCommandHelp(command: Command): string {
  const required = Object.entries(command.options).filter(([, { required }]) => required)
  const usage = [
    hint(command.name),
    ...(command.operand ? [command.operand] : []),
    ...required.map(([name, { value }]) => `--${name} ${value}`),
    '[options]',
  ]
  const { summary, description } = command
  const example = command.example?.replace(/^tillkit/, PROGRAM).replaceAll('\n', '\n  ')
  return `${summary}${description ? `\n\n${wrap(description.split(' '), '', '')}` : ''}

${wrap(usage, 'Usage: ', '  ')}

Options:
${formatOptions(optionsOf(command))}${example ? `\n\nExample:\n  ${example}` : ''}`
}

function formatOptions(options: OptionSpecs): string {
  return columns(
    Object.entries(options).map(([name, spec]) => [
      `${spec.short ? `-${spec.short}, ` : ''}--${name}${spec.value ? ` ${spec.value}` : ''}`,
      spec.help + formatNote(spec),
    ]),
  )
}

function formatNote({ required, variable }: OptionSpec): string {
  const notes = [...(required ? ['required'] : []), ...(variable ? [variable] : [])]
  return notes.length === 0 ? '' : ` (${notes.join(', or ')})`
}

type Rows = readonly (readonly [string, string])[]

function columns(rows: Rows, indent = Math.max(...rows.map(([name]) => name.length)) + 4): string {
  return rows
    .map(([name, text]) => wrap(text.split(' '), `  ${name}`.padEnd(indent), ' '.repeat(indent)))
    .join('\n')
}
