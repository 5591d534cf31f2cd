import type { Account, Storage, Till } from '../lib/index.ts'
import type { Config, Environment } from './config.ts'
import type { Io } from './io.ts'
import type { ValueParser } from './option-values.ts'
import type { Output } from './output.ts'

/** An option of a command. An option with `value` takes a value; an option without it is a flag. */
export interface OptionSpec {
  /** A one-letter alias. */
  readonly short?: string
  /** The placeholder for the value in the help text. */
  readonly value?: string
  /** The value to use when the option is given without one. */
  readonly bare?: string
  readonly required?: boolean
  /**
   * The environment variable that is used when the option is left out. It has the values of a
   * repeatable option separated by commas.
   */
  readonly variable?: string
  /** Names the account that the command acts for; found in the database when left out. */
  readonly isCaller?: true
  /** The option may be repeated. */
  readonly multiple?: boolean
  /** Parses the value. If missing, the command gets the text, and the library validates it. */
  readonly parse?: ValueParser<unknown>
  /** The secret that the value may hold. Other users of the machine can see the command line. */
  readonly secret?: OptionSecret
  /** The values that shell completion offers. They type a value that the library parses. */
  readonly choices?: readonly string[]
  /** The library's field for the value, unless it has the name that `fieldOf` makes. */
  readonly field?: string
  readonly help: string
}

export interface OptionSecret {
  /** Such as `the password`. */
  readonly name: string
  isIn(text: string): boolean
  /** The safe way to give it, such as a variable. */
  readonly instead: string
}

export type OptionSpecs = { readonly [name: string]: OptionSpec }

type Value<S extends OptionSpec> = S extends { parse: ValueParser<infer T> }
  ? T
  : S extends { choices: readonly (infer T)[] }
    ? T
    : string

type Values<O extends OptionSpecs> = {
  readonly [K in keyof O]: O[K] extends { multiple: true }
    ? readonly Value<O[K]>[] | undefined
    : O[K] extends { value: string }
      ? O[K] extends { required: true }
        ? Value<O[K]>
        : Value<O[K]> | undefined
      : boolean
}

/** The name of the library's field: `store_id` for `--store ID`, `display_name` for `--display-name`. */
export function fieldOf(name: string, { field, value }: OptionSpec): string {
  if (field) return field
  const words = name.replaceAll('-', '_')
  return value === 'ID' && !words.endsWith('_id') ? `${words}_id` : words
}

type Words<N extends string> = N extends `${infer A}-${infer B}` ? `${A}_${Words<B>}` : N
type FieldOf<N extends string, S> = S extends { field: infer F extends string }
  ? F
  : S extends { value: 'ID' }
    ? N extends `${string}-id`
      ? Words<N>
      : `${Words<N>}_id`
    : Words<N>

type Input<O extends OptionSpecs> = {
  readonly [N in keyof O & string as O[N] extends { isCaller: true }
    ? never
    : FieldOf<N, O[N]>]: Values<O>[N]
}

/** The input of a command: its options, the till, the storage and the settings. */
export interface Invocation<O extends OptionSpecs = OptionSpecs> {
  readonly options: Values<O>
  /** The options, except the caller, under the names of the library's fields. */
  readonly input: Input<O>
  /** The operand; '' for a command without one. */
  readonly operand: string
  /** The paths of the files that the command reads, besides the database. */
  readonly inputs: readonly string[]
  /** Warnings of the secrets in the command line. `serve` logs them; else they are printed. */
  readonly exposed: readonly string[]
  /** The whole command line, as words. */
  readonly args: readonly string[]
  readonly till: Till
  /** The account of the options, or the owner of the project, or the only account. */
  readonly account: O extends { account: { isCaller: true } } ? Account : undefined
  /** The storage behind `till`. */
  readonly storage: Storage
  /** The database: a path, a PostgreSQL URL, or `memory:`. */
  readonly db: string
  /** Whether this command created the database file. */
  readonly isNew: boolean
  readonly config: Config
  readonly env: Environment
  readonly io: Io
  readonly output: Output
}

export interface Command<O extends OptionSpecs = OptionSpecs> {
  /** The words that select the command, such as `item create`. */
  readonly name: string
  readonly summary: string
  /** Sentences that the help shows after the summary. */
  readonly description?: string
  /** An example of a command line, for the help. */
  readonly example?: string
  /** The placeholder of the only operand, such as `ID` or `FILE`; `[FILE]` if it is optional. */
  readonly operand?: string
  /**
   * Whether to create a missing database. Most commands reject a missing one, because its path may
   * be mistyped.
   */
  readonly makesDatabase?: boolean
  /** Whether to upgrade a database of an earlier tillkit. The other commands refuse it. */
  readonly upgradesDatabase?: boolean
  /**
   * Whether the command stores secrets. If so, the program first checks that the master key
   * decrypts the stored ones.
   */
  readonly storesSecrets?: boolean
  /** Whether the quotas of items and purchases apply. The operator's own commands have none. */
  readonly hasRowQuotas?: boolean
  /** Options of which at least one must be given: what the command changes. */
  readonly changes?: readonly string[]
  /** The option that names the database instead of `--db`. */
  readonly databaseOption?: string
  /** Whether the command logs the warnings of secrets in its options, which are else printed. */
  readonly logsWarnings?: boolean
  /** Whether the command needs no database. It then gets no `till` and no `storage`. */
  readonly needsNoDatabase?: boolean
  /** The option without which the command needs no stored data. It then gets an empty database. */
  readonly needsDatabaseFor?: string
  readonly options: O
  /** Resolves to the record to print; to nothing if it has printed its result. */
  run(invocation: Invocation<O>): Promise<unknown>
}

/**
 * Declares a command. The type of `declared.options` determines the types of the options that `run`
 * gets.
 */
export function command<const O extends OptionSpecs>(declared: Command<O>): Command {
  return declared as unknown as Command
}
