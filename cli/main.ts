#!/usr/bin/env node
import { existsSync, readFileSync } from 'node:fs'
import { createTill } from '../lib/index.ts'
import { explained } from './access.ts'
import { type Command, parseArguments, UsageError } from './command.ts'
import { commands, groups } from './commands.ts'
import { readConfig } from './config.ts'
import { DONE, REFUSED, reportFailure } from './failure.ts'
import { formatCommandHelp, formatGroupHelp, formatProgramHelp } from './help.ts'
import { nearest } from './nearest.ts'
import { isFile, openStorage, tillOptions } from './open.ts'
import { createOutput } from './output.ts'
import { isWorker } from './workers.ts'

async function main(args: readonly string[]): Promise<number> {
  const command = findCommand(args)
  if (!command) return answerWithoutCommand(args)
  const words = command.name.split(' ').length
  const { options, operand } = parseArguments(command, args.slice(words))
  if (options.help) return print(formatCommandHelp(command))
  const set = readConfig(process.env)
  const named = options[command.databaseOption ?? 'db'] as string | undefined
  const db = named ?? set.db
  const config = { ...set, db, ...(options.lockdown ? { lockdown: true } : {}) }
  const wasThere = existsSync(db)
  const storage = await openStorage(db, { create: command.makesDatabase ?? false })
  const isNew = !wasThere && existsSync(db)
  const till = createTill({ storage, ...tillOptions(config) })
  try {
    if (command.storesSecrets) await till.operations.assertSecretsOpen()
    const output = createOutput(process.stdout, options.json === true)
    const given = { options: options as never, operand, config, output }
    await command.run({ ...given, till, storage, db, isNew })
    return DONE
  } catch (error) {
    throw isFile(db) ? explained(error, db) : error
  } finally {
    await till.close()
  }
}

function findCommand(args: readonly string[]): Command | undefined {
  return commands.find(({ name }) => name.split(' ').every((word, index) => args[index] === word))
}

function answerWithoutCommand(args: readonly string[]): number {
  const [first = ''] = args
  if (first === '--version') return print(version())
  // What follows an option may be its value.
  const end = args.findIndex((each) => each.startsWith('-'))
  const words = end === -1 ? args : args.slice(0, end)
  if (first === 'help') return print(helpOf(words.slice(1)))
  if (isHelp(first)) return print(helpOf(args.filter((each) => !each.startsWith('-'))))
  if (args.some(isHelp)) return print(helpOf(words))
  if (first.startsWith('-') && args.length === 1) {
    throw new UsageError(`Unknown option '${first}'`)
  }
  if (first.startsWith('-')) throw new UsageError('Options come after the command')
  throw unknownCommand(words)
}

function isHelp(argument: string): boolean {
  return argument === '--help' || argument === '-h'
}

/** Of the program, of a command, or of those that begin with these words. */
function helpOf(words: readonly string[]): string {
  if (words.length === 0) return formatProgramHelp(groups)
  const command = findCommand(words)
  if (command) return formatCommandHelp(command)
  const begun = words.join(' ')
  const known = commandsUnder(begun)
  if (known.length === 0) throw unknownCommand(words)
  return formatGroupHelp(begun, known)
}

function commandsUnder(begun: string): Command[] {
  return commands.filter(({ name }) => name.startsWith(`${begun} `))
}

function unknownCommand(words: readonly string[]): UsageError {
  const typed = words.join(' ')
  if (typed === '') return new UsageError('A command is missing')
  const meant = [3, 2, 1].map((count) => nearestOf(words.slice(0, count))).find(Boolean)
  if (meant) return new UsageError(`There is no command '${typed}': did you mean ${meant}?`)
  const known = [typed, words[0] ?? ''].map(commandsUnder).find((under) => under.length > 0)
  if (!known) return new UsageError(`There is no command '${typed}'`)
  return new UsageError(`Which one of ${known.map(({ name }) => name).join(', ')}?`)
}

/** The nearest command, or beginning of commands, of as many words; undefined for one itself. */
function nearestOf(words: readonly string[]): string | undefined {
  const typed = words.join(' ')
  const beginnings = commands.map(({ name }) => name.split(' ').slice(0, words.length).join(' '))
  const found = nearest(typed, beginnings)
  return found === typed ? undefined : found
}

function version(): string {
  const url = new URL('../../package.json', import.meta.url)
  return (JSON.parse(readFileSync(url, 'utf8')) as { version: string }).version
}

function print(text: string): number {
  process.stdout.write(`${text}\n`)
  return DONE
}

// Whoever reads our output may stop early, as `head` does.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(DONE)
  process.stderr.write(`tillkit: ${error.message}\n`)
  process.exit(REFUSED)
})

// A server goes on when nobody takes its log any more.
process.stderr.on('error', () => {})

const args = process.argv.slice(2)
main(args)
  .catch((error: unknown) => reportFailure(error, args, findCommand(args)))
  .then((code) => {
    process.exitCode = code
    if (isWorker) process.disconnect() // its channel to the other process would keep it alive
  })
