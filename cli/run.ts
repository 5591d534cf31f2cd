import { existsSync } from 'node:fs'
import type { Account, Till } from '../lib/index.ts'
import { type ParsedArguments, parseArguments } from './arguments.ts'
import { type Command, fieldOf, type Invocation } from './command.ts'
import { UsageError } from './command-errors.ts'
import { commands, groups } from './commands.ts'
import { COMPLETE, complete } from './completion.ts'
import { type Environment, readConfig } from './config.ts'
import { isFile } from './database-url.ts'
import { DONE, reportFailure } from './failure.ts'
import { explainPermissions } from './file-permissions.ts'
import { formatCommandHelp, formatFirstScreen, formatGroupHelp, formatProgramHelp } from './help.ts'
import type { Io } from './io.ts'
import { createOutput } from './output.ts'
import { DEFAULT_DB, hint } from './program.ts'
import { suggest } from './suggestion.ts'
import { withStoreHint } from './unknown-store.ts'

/** Runs a command line. Prints a failure, and resolves to the exit code. */
export async function run(args: readonly string[], io: Io, env: Environment): Promise<number> {
  if (args[0] === COMPLETE) {
    io.stdout.write(complete(args.slice(1), commands))
    return DONE
  }
  const command = findCommand(args)
  try {
    if (command) await runCommand(command, args, io, env)
    else io.stdout.write(`${await answerWithoutCommand(args)}\n`)
    return DONE
  } catch (error) {
    return await reportFailure(error, args, command, io)
  }
}

const NO_ROW_QUOTAS = { items: Number.POSITIVE_INFINITY, purchases: Number.POSITIVE_INFINITY }

async function runCommand(command: Command, args: readonly string[], io: Io, env: Environment) {
  const words = command.name.split(' ').length
  const { options, operand, inputs, exposed } = parseArguments(command, args.slice(words), env)
  if (options.help) return void io.stdout.write(`${formatCommandHelp(command)}\n`)
  const set = readConfig(env)
  const { needsDatabaseFor } = command
  const isEmpty = needsDatabaseFor !== undefined && options[needsDatabaseFor] === undefined
  const { [command.databaseOption ?? 'db']: named = DEFAULT_DB } = options as {
    [name: string]: string
  }
  const db = isEmpty ? 'memory:' : named
  const quotas = command.hasRowQuotas ? set.quotas : { ...set.quotas, ...NO_ROW_QUOTAS }
  const config = { ...set, quotas, ...(options.lockdown ? { lockdown: true } : {}) }
  const output = createOutput(io, options.json === true)
  const given = { operand, inputs, args, config, env, io, output, db, exposed }
  if (!command.logsWarnings) for (const each of exposed) io.stderr.write(`warning: ${each}\n`)
  if (command.needsNoDatabase) {
    return void (await command.run({ ...given, options } as unknown as Invocation))
  }
  const { createTill, openStorage } = await import('./database.ts')
  const wasThere = existsSync(db)
  const { makesDatabase: create = false, upgradesDatabase: upgrade = false } = command
  const storage = await openStorage(db, { create, upgrade })
  const isNew = !wasThere && existsSync(db)
  const till = createTill({ storage, ...config })
  try {
    if (command.storesSecrets) await till.operator.assertSecretsOpen()
    assertChange(command, options)
    const account = isEmpty
      ? await till.accounts.create({ name: 'none' })
      : await findAccount(command, options, till, db)
    const input = inputOf(command, options)
    const all = { ...given, options, input, till, account, storage, isNew }
    const invocation = all as unknown as Invocation
    const record = (await withStoreHint(invocation, () => command.run(invocation))) as
      | object
      | undefined
    if (record) output.record(record)
  } catch (error) {
    await storage.discard?.()
    throw isFile(db) ? explainPermissions(error, db) : error
  } finally {
    await till.close()
  }
}

function inputOf({ options: specs }: Command, options: ParsedArguments['options']) {
  const given = Object.entries(specs).filter(([, { isCaller }]) => !isCaller)
  return Object.fromEntries(given.map(([name, spec]) => [fieldOf(name, spec), options[name]]))
}

function assertChange({ changes }: Command, options: ParsedArguments['options']): void {
  if (!changes || changes.some((name) => options[name] !== undefined)) return
  const names = changes.map((name) => `--${name}`)
  const last = names.pop()
  throw new UsageError(`Nothing to change: give ${names.join(', ')} or ${last}`)
}

/** The account that `--account` names, else the owner of the project, else the only account. */
async function findAccount(
  { options: specs }: Command,
  { account, project }: ParsedArguments['options'],
  till: Till,
  db: string,
): Promise<Account | undefined> {
  if (account !== undefined) return till.accounts.get(account as string)
  if (!specs.account?.isCaller) return undefined
  if (specs.project?.required) return till.accounts.ownerOf(project as string)
  const { accounts } = await till.accounts.list({ limit: 2 })
  const [only, other] = accounts
  if (!only) throw new UsageError(`There is no account: ${hint('account create --name NAME', db)}`)
  if (!other) return only
  const list = hint('account list', db)
  throw new UsageError(`--account ID is missing, and there are several: ${list}`)
}

function findCommand(args: readonly string[]): Command | undefined {
  return commands.find(({ name }) => name.split(' ').every((word, index) => args[index] === word))
}

/** The version or a help text, for a command line without a known command. */
async function answerWithoutCommand(args: readonly string[]): Promise<string> {
  const [first] = args
  if (first === undefined) return formatFirstScreen(commands)
  if (first === '--version') return (await import('../http/index.ts')).readVersion()
  // Ignores the words after the first option, because they may be the values of options.
  const end = args.findIndex((each) => each.startsWith('-'))
  const words = end === -1 ? args : args.slice(0, end)
  if (first === 'help') return helpOf(words.slice(1))
  if (isHelp(first)) return helpOf(args.filter((each) => !each.startsWith('-')))
  if (args.some(isHelp)) return helpOf(words)
  if (!first.startsWith('-')) throw unknownCommand(words)
  const isOnly = args.length === 1
  throw new UsageError(isOnly ? `Unknown option '${first}'` : 'Options come after the command')
}

function isHelp(argument: string): boolean {
  return argument === '--help' || argument === '-h'
}

/** The help of the program, of a command, or of the commands that begin with these words. */
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
  const meant = [3, 2, 1].map((count) => suggestCommand(words.slice(0, count))).find(Boolean)
  if (meant) return new UsageError(`There is no command '${typed}': did you mean ${meant}?`)
  const known = [typed, words[0] ?? ''].map(commandsUnder).find((under) => under.length > 0)
  if (!known) return new UsageError(`There is no command '${typed}'`)
  return new UsageError(`Which one of ${known.map(({ name }) => name).join(', ')}?`)
}

/**
 * The most similar command or group of commands with the same number of words. Never returns
 * `words` itself.
 */
function suggestCommand(words: readonly string[]): string | undefined {
  const typed = words.join(' ')
  const beginnings = commands.map(({ name }) => name.split(' ').slice(0, words.length).join(' '))
  const found = suggest(typed, beginnings)
  return found === typed ? undefined : found
}
