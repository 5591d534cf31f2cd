import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import type { Storage, Till } from '../lib/index.ts'
import type { Config } from './config.ts'
import type { Output } from './output.ts'

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
  readonly required?: boolean
  /** May be given more than once. */
  readonly multiple?: boolean
  readonly help: string
}
export type OptionSpecs = { readonly [name: string]: OptionSpec }

type Values<O extends OptionSpecs> = {
  readonly [K in keyof O]: O[K] extends { multiple: true }
    ? readonly string[] | undefined
    : O[K] extends { value: string }
      ? O[K] extends { required: true }
        ? string
        : string | undefined
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

/** The options that every command takes. */
export const COMMON_OPTIONS = {
  db: { value: 'DB', help: 'a file, postgres://…, or memory: (default tillkit.db)' },
  json: { help: 'print one JSON document on stdout, and nothing else there' },
  help: { short: 'h', help: 'print this help' },
} satisfies OptionSpecs

export interface ParsedArguments {
  readonly options: { readonly [name: string]: string | boolean | (string | boolean)[] | undefined }
  readonly operand: string
}

/** Reads a command's arguments; throws a UsageError that says what is wrong with them. */
export function parseArguments(command: Command, args: readonly string[]): ParsedArguments {
  const specs: OptionSpecs = { ...command.options, ...COMMON_OPTIONS }
  const types = Object.entries(specs).map(
    ([name, { short, value, multiple = false }]) =>
      [
        name,
        { type: value ? 'string' : 'boolean', multiple, ...(short ? { short } : {}) },
      ] as const,
  )
  const { values, positionals } = parseStrictly([...args], Object.fromEntries(types))
  if (values.help === true) return { options: values, operand: '' }
  for (const [name, { required, value }] of Object.entries(specs)) {
    if (required && values[name] === undefined)
      throw new UsageError(`--${name} ${value} is missing`)
  }
  const [operand = '', ...extra] = positionals
  if (command.operand && operand === '') throw new UsageError(`${command.operand} is missing`)
  const unexpected = command.operand ? extra[0] : positionals[0]
  if (unexpected !== undefined) throw new UsageError(`Unexpected argument '${unexpected}'`)
  return { options: values, operand }
}

function parseStrictly(
  args: string[],
  options: { [name: string]: { type: 'string' | 'boolean'; multiple: boolean; short?: string } },
) {
  try {
    return parseArgs({ args, options, allowPositionals: true })
  } catch (error) {
    throw new UsageError((error as Error).message.split('. To specify')[0])
  }
}

/** The value of an option that takes a whole number. */
export function numberOption(name: string, value: string | undefined): number | undefined {
  if (value === undefined) return undefined
  if (/^\d{1,9}$/.test(value)) return Number(value)
  throw new UsageError(`--${name} must be a whole number`)
}

/** The value of an option that takes JSON, or `@file` with JSON in it. */
export function jsonOption(name: string, value: string | undefined): unknown {
  if (value === undefined) return undefined
  const text = value.startsWith('@') ? readOptionFile(name, value.slice(1)) : value
  try {
    return JSON.parse(text)
  } catch (error) {
    // V8's own message quotes the text, which may hold a secret; only the place is taken from it.
    const place = /at position \d+/.exec((error as Error).message)?.[0]
    throw new UsageError(`--${name} is not JSON${place ? `: look ${place}` : ''}`)
  }
}

function readOptionFile(name: string, path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    throw new UsageError(`--${name}: ${(error as Error).message}`)
  }
}
