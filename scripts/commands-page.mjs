// Formats docs/commands.md from the commands, their options and the environment variables.
import { code, link, table } from './markdown.mjs'

/** The page for the groups of `cli/commands.ts`, with the options that all commands share. */
export function formatCommandsPage(groups, common, variables) {
  const shared = Object.keys(common)
  const sections = Object.entries(groups).flatMap(([title, commands]) => [
    `## ${title}`,
    ...commands.flatMap((command) => commandSections(command, shared)),
  ])
  const titles = [...Object.keys(groups), 'Common options', 'Environment variables']
  const rows = Object.values(groups).flat()
  return `${[
    '# Commands',
    'Which options does a command take? `npm run docs` makes this page from the help of the commands.\n' +
      '[cli.md](cli.md) shows them at work.',
    `Contents: ${titles.map(link).join(', ')}.`,
    table(
      ['command', 'does'],
      rows.map(({ name, summary }) => [link(name), summary]),
    ),
    ...sections,
    '## Common options',
    'Every command takes `--json` and `--help`. A command that uses a database takes `--db`.',
    optionsTable(common),
    '## Environment variables',
    'An option overrides its variable.',
    table(
      ['variable', 'meaning'],
      Object.entries(variables).map(([name, help]) => [code(name), help]),
    ),
  ].join('\n\n')}\n`
}

function commandSections({ name, summary, description, operand, options, example }, shared) {
  const own = Object.entries(options).filter(([option]) => !shared.includes(option))
  return [
    `### ${name}`,
    `${summary}.${description ? ` ${description}` : ''}`,
    ...(operand ? [`${code(`tillkit ${name} ${operand}`)}`] : []),
    ...(own.length > 0 ? [optionsTable(Object.fromEntries(own))] : []),
    ...(example ? [`\`\`\`sh\n${example}\n\`\`\``] : []),
  ]
}

function optionsTable(options) {
  const rows = Object.entries(options).map(([name, { short, value, required, variable, help }]) => [
    `${short ? `${code(`-${short}`)}, ` : ''}${code(`--${name}${value ? ` ${value}` : ''}`)}`,
    [help, ...(required ? ['required'] : []), ...(variable ? [code(variable)] : [])].join('; '),
  ])
  return table(['option', 'meaning'], rows)
}
