#!/usr/bin/env node
import { existsSync, readFileSync } from 'node:fs'
import { createTill, TillError } from '../lib/index.ts'
import { type Command, Interrupted, parseArguments, Refusal, UsageError } from './command.ts'
import { commands, groups } from './commands.ts'
import { readConfig } from './config.ts'
import { formatCommandHelp, formatGroupHelp, formatProgramHelp } from './help.ts'
import { openStorage, tillOptions } from './open.ts'
import { createOutput, formatRefusal, refusalDocument } from './output.ts'
import { isWorker } from './workers.ts'

/** Exit codes. */
const DONE = 0
const REFUSED = 1
const WRONG_USAGE = 2
const INTERRUPTED = 130

async function main(args: readonly string[]): Promise<number> {
  const command = findCommand(args)
  if (!command) return answerWithoutCommand(args)
  const words = command.name.split(' ').length
  const { options, operand } = parseArguments(command, args.slice(words))
  if (options.help) return print(formatCommandHelp(command))
  const config = { ...readConfig(process.env), ...(options.lockdown ? { lockdown: true } : {}) }
  const named = options[command.databaseOption ?? 'db'] as string | undefined
  const db = named ?? config.db
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
  const words = args.filter((each) => !each.startsWith('-'))
  if (first === 'help') return print(helpOf(words.slice(1)))
  if (first.startsWith('-') && !isHelp(first) && words.length > 0) {
    throw new UsageError('Options come after the command')
  }
  if (args.some(isHelp)) return print(helpOf(words))
  const begun = [words.join(' '), first].map(commandsUnder)
  const known = begun.find((commands) => commands.length > 0)
  if (known) throw new UsageError(`Which one of ${known.map(({ name }) => name).join(', ')}?`)
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
  return new UsageError(typed ? `There is no command '${typed}'` : 'A command is missing')
}

function version(): string {
  const url = new URL('../../package.json', import.meta.url)
  return (JSON.parse(readFileSync(url, 'utf8')) as { version: string }).version
}

function print(text: string): number {
  process.stdout.write(`${text}\n`)
  return DONE
}

function reportFailure(error: unknown, args: readonly string[]): number {
  if (error instanceof UsageError) {
    const help = ['tillkit', findCommand(args)?.name, '--help'].filter(Boolean).join(' ')
    process.stderr.write(`tillkit: ${error.message}\nSee ${help}\n`)
    return WRONG_USAGE
  }
  if (error instanceof Interrupted) {
    process.stderr.write(`tillkit: ${error.message}\n`)
    return INTERRUPTED
  }
  const json = args.includes('--json')
  if (error instanceof TillError && json) {
    process.stdout.write(`${JSON.stringify(refusalDocument(error), null, 2)}\n`)
  } else if (error instanceof TillError) {
    process.stderr.write(`tillkit: ${formatRefusal(error, findCommand(args)?.options)}\n`)
  } else if (error instanceof Refusal) {
    if (error.message !== '') process.stderr.write(`tillkit: ${error.message}\n`)
  } else if (typeof (error as NodeJS.ErrnoException).syscall === 'string') {
    process.stderr.write(`tillkit: ${(error as Error).message}\n`) // a port in use, an unreadable file
  } else {
    process.stderr.write(`tillkit: ${error instanceof Error ? error.stack : String(error)}\n`)
  }
  return REFUSED
}

// Whoever reads our output may stop early, as `head` does.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(DONE)
  process.stderr.write(`tillkit: ${error.message}\n`)
  process.exit(REFUSED)
})

const args = process.argv.slice(2)
main(args)
  .catch((error: unknown) => reportFailure(error, args))
  .then((code) => {
    process.exitCode = code
    if (isWorker) process.disconnect() // its channel to the other process would keep it alive
  })
