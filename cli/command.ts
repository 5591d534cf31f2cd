import { parseArgs } from 'node:util'
import type { Storage, Till } from '../lib/index.ts'
import type { Config } from './config.ts'
import { nearest } from './nearest.ts'
import type { Output } from './output.ts'
import type { ValueParser } from './values.ts'

/** Wrong usage: exit code 2. */
export class UsageError extends Error {}

/** A finding for which a command ends with exit code 1, the message on stderr. */
export class Refusal extends Error {}

/** Ctrl-C, and what came of it: exit code 130, as a shell gives it. */
export class Interrupted extends Error {}

/**
 * An option of a command: with `value`, its placeholder in the help, it takes one; else it is a
 * flag.
 */
export interface OptionSpec {
  /** One letter that stands for it. */
  readonly short?: string
  readonly value?: string
  /** Its value when it is given without one. */
  readonly bare?: string
  readonly required?: boolean
  /** May be given more than once. */
  readonly multiple?: boolean
  /** What its text stands for; the text itself when left out, for the library to judge. */
  readonly parse?: ValueParser<unknown>
  readonly help: string
}
export type OptionSpecs = { readonly [name: string]: OptionSpec }

type Value<S extends OptionSpec> = S extends { parse: ValueParser<infer T> } ? T : string

type Values<O extends OptionSpecs> = {
  readonly [K in keyof O]: O[K] extends { multiple: true }
    ? readonly Value<O[K]>[] | undefined
    : O[K] extends { value: string }
      ? O[K] extends { required: true }
        ? Value<O[K]>
        : Value<O[K]> | undefined
      : boolean
}

/** What a command works with. */
export interface Invocation<O extends OptionSpecs = OptionSpecs> {
  readonly options: Values<O>
  /** The operand; '' for a command that takes none. */
  readonly operand: string
  readonly till: Till
  /** What the till works on. */
  readonly storage: Storage
  /** The database: a path, a URL of PostgreSQL, or `memory:`. */
  readonly db: string
  /** Whether the database is a file that was not there before. */
  readonly isNew: boolean
  readonly config: Config
  readonly output: Output
}

export interface Command<O extends OptionSpecs = OptionSpecs> {
  /** As it is typed: `item create`. */
  readonly name: string
  readonly summary: string
  /** The placeholder of the one operand that it takes: `ID`, `FILE`. */
  readonly operand?: string
  /** Whether it makes the database where there is none: a mistyped path is no new database. */
  readonly makesDatabase?: boolean
  /** Whether it stores secrets: then the master key must open those that there are. */
  readonly storesSecrets?: boolean
  /** The option that names its database in place of `--db`. */
  readonly databaseOption?: string
  readonly options: O
  run(invocation: Invocation<O>): Promise<void>
}

/** Declares a command, so that `run` gets its options by name and type. */
export function command<const O extends OptionSpecs>(declared: Command<O>): Command {
  return declared as unknown as Command
}

/** The options that every command takes, but for `db` where another option names the database. */
export const COMMON_OPTIONS = {
  db: { value: 'DB', help: 'a file, postgres://…, or memory: (default tillkit.db)' },
  json: { help: 'print one JSON document on stdout, and nothing else there' },
  help: { short: 'h', help: 'print this help' },
} satisfies OptionSpecs

/** All options that a command takes. */
export function optionsOf({ options, databaseOption }: Command): OptionSpecs {
  const { db, ...others } = COMMON_OPTIONS
  return { ...options, ...(databaseOption ? {} : { db }), ...others }
}

export interface ParsedArguments {
  readonly options: { readonly [name: string]: unknown }
  readonly operand: string
}

/** Reads a command's arguments; throws a UsageError that says what is wrong with them. */
export function parseArguments(command: Command, args: readonly string[]): ParsedArguments {
  const specs = optionsOf(command)
  const { values, positionals } = parseStrictly(args, specs)
  if (values.help === true) return { options: values, operand: '' }
  for (const [name, { required, value = '' }] of Object.entries(specs)) {
    const given = values[name]
    if (required && given === undefined) throw new UsageError(`--${name} ${value} is missing`)
    // As the variable of a script that is not set leaves it.
    const isName = value === 'ID' || value === 'DB'
    if (isName && given === '') throw new UsageError(`--${name} ${value} is empty`)
  }
  const [operand = '', ...extra] = positionals
  if (command.operand && operand === '') throw new UsageError(`${command.operand} is missing`)
  const unexpected = command.operand ? extra[0] : positionals[0]
  if (unexpected !== undefined) throw new UsageError(`Unexpected argument '${unexpected}'`)
  return { options: parseValues(values, specs), operand }
}

type Given = { readonly [name: string]: string | boolean | (string | boolean)[] | undefined }

function parseStrictly(
  args: readonly string[],
  specs: OptionSpecs,
): { values: Given; positionals: readonly string[] } {
  const types = Object.entries(specs).map(([name, { short, value, multiple = false }]) => {
    const type = value ? ('string' as const) : ('boolean' as const)
    return [name, { type, multiple, ...(short ? { short } : {}) }] as const
  })
  try {
    const options = Object.fromEntries(types)
    return parseArgs({ args: fillBare(args, specs), options, allowPositionals: true })
  } catch (error) {
    throw new UsageError(whatIsWrong(error as Error, args, specs))
  }
}

/** Adds the value of options that may stand without one, which `parseArgs` does not know. */
function fillBare(args: readonly string[], specs: OptionSpecs): string[] {
  return args.map((arg, index) => {
    const bare = arg.startsWith('--') ? specs[arg.slice(2)]?.bare : undefined
    const hasValue = args[index + 1]?.startsWith('-') === false
    return bare === undefined || hasValue ? arg : `${arg}=${bare}`
  })
}

/** What Node says of arguments, shorter, and with what was probably meant. */
function whatIsWrong({ message }: Error, args: readonly string[], specs: OptionSpecs): string {
  const [, unknown] = /^Unknown option '(--?[^']+)'/.exec(message) ?? []
  if (unknown !== undefined) {
    // Of `-name` Node names the first letter alone.
    const typed = args.find((each) => each.startsWith(unknown)) ?? unknown
    const written = typed.split('=', 1)[0] ?? ''
    const meant = nearest(written.replace(/^-+/, ''), Object.keys(specs))
    return `Unknown option '${written}'${meant ? `: did you mean --${meant}?` : ''}`
  }
  const [, bare = ''] = /^Option '--([\w-]+)(?: <value>)?' argument /.exec(message) ?? []
  const placeholder = specs[bare]?.value
  if (!placeholder) return message
  const isAmbiguous = message.includes('ambiguous')
  const hint = isAmbiguous ? `; one that begins with - as --${bare}=-…` : ''
  return `--${bare} takes a value: ${placeholder}${hint}`
}

function parseValues(given: Given, specs: OptionSpecs): ParsedArguments['options'] {
  const parsed = Object.entries(given).map(([name, value]) => {
    const parse = specs[name]?.parse
    if (!parse) return [name, value]
    const parseOne = (text: string | boolean) => parse(String(text), `--${name}`)
    return [name, Array.isArray(value) ? value.map(parseOne) : parseOne(value ?? '')]
  })
  return Object.fromEntries(parsed)
}
