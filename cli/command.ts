import type { Storage, Till } from '../lib/index.ts'
import type { Config, Environment } from './config.ts'
import type { Io } from './io.ts'
import type { ValueParser } from './option-values.ts'
import type { Output } from './output.ts'

/** An option of a command. One with a `value` takes a value; any other is a flag. */
export interface OptionSpec {
  /** A one-letter alias. */
  readonly short?: string
  /** The placeholder of the value in the help. */
  readonly value?: string
  /** The value of an option that is given without one. */
  readonly bare?: string
  readonly required?: boolean
  /** The option may be repeated. */
  readonly multiple?: boolean
  /** Parses the value. Without it the command gets the text, and the library validates it. */
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

/** Everything that a command works with. */
export interface Invocation<O extends OptionSpecs = OptionSpecs> {
  readonly options: Values<O>
  /** The operand; '' for a command that takes none. */
  readonly operand: string
  /** The whole command line. */
  readonly args: readonly string[]
  readonly till: Till
  /** The storage of `till`. */
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
  /** The words that select it: `item create`. */
  readonly name: string
  readonly summary: string
  /** The placeholder of its only operand: `ID`, `FILE`. */
  readonly operand?: string
  /** Creates a missing database. Other commands reject it, because the path may be mistyped. */
  readonly makesDatabase?: boolean
  /** Opens no database: `till` is in memory. */
  readonly needsNoDatabase?: boolean
  /** Stores secrets, so the master key must open the secrets already stored. */
  readonly storesSecrets?: boolean
  /** The option that names the database instead of `--db`. */
  readonly databaseOption?: string
  readonly options: O
  run(invocation: Invocation<O>): Promise<void>
}

/** Declares a command. `run` gets its options typed by their specs. */
export function command<const O extends OptionSpecs>(declared: Command<O>): Command {
  return declared as unknown as Command
}
