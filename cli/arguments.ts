import { parseArgs } from 'node:util'
import type { Command, OptionSpecs } from './command.ts'
import { UsageError } from './command-errors.ts'
import type { Environment } from './config.ts'
import { optionsOf } from './options.ts'
import { suggest } from './suggestion.ts'

export interface ParsedArguments {
  readonly options: { readonly [name: string]: unknown }
  readonly operand: string
  /** The paths of the files that the command reads, besides the database. */
  readonly inputs: readonly string[]
  /** Warnings of the secrets that the arguments show to other users. */
  readonly exposed: readonly string[]
}

/** Parses the arguments of a command. Throws a UsageError that names all missing arguments. */
export function parseArguments(
  command: Command,
  args: readonly string[],
  environment: Environment,
): ParsedArguments {
  const specs = optionsOf(command)
  const { values: given, positionals } = parseStrictly(args, specs)
  if (given.help === true) return { options: given, operand: '', inputs: [], exposed: [] }
  const values = { ...defaultsOf(specs, environment), ...given }
  for (const [name, { value = '' }] of Object.entries(specs)) {
    // Rejects an empty id, which usually comes from a shell variable that is not set.
    const isName = value === 'ID' || value === 'DB'
    if (isName && values[name] === '') throw new UsageError(`--${name} ${value} is empty`)
  }
  const [operand = '', ...extra] = positionals
  const missing = Object.entries(specs)
    .filter(([name, spec]) => spec.required && values[name] === undefined)
    .map(([name, { value }]) => `--${name} ${value}`)
  if (command.operand?.startsWith('[') === false && operand === '') missing.unshift(command.operand)
  if (missing.length > 0) throw new UsageError(formatMissing(missing))
  const unexpected = command.operand ? extra[0] : positionals[0]
  if (unexpected !== undefined) throw new UsageError(`Unexpected argument '${unexpected}'`)
  return {
    options: parseValues(values, given, specs),
    operand,
    inputs: [...(readsFile(command.operand) ? [operand] : []), ...inputsOf(values, specs)],
    exposed: findExposed(given, specs),
  }
}

/** Whether an operand names a file to read. Only such a file may be standard input. */
function readsFile(operand: string | undefined): boolean {
  return operand?.includes('FILE|-') === true
}

/** The files that options name: their values, or what follows `@` in a value that may be a file. */
function inputsOf(values: Given, specs: OptionSpecs): string[] {
  return Object.entries(values).flatMap(([name, path]) => {
    const { value = '', parse } = specs[name] ?? {}
    if (typeof path !== 'string' || !parse) return []
    if (value === 'FILE') return [path]
    return value.includes('@FILE') && path.startsWith('@') ? [path.slice(1)] : []
  })
}

function findExposed(given: Given, specs: OptionSpecs): string[] {
  return Object.entries(given).flatMap(([option, value]) => {
    const { secret } = specs[option] ?? {}
    if (!secret?.isIn(String(value))) return []
    const { name, instead } = secret
    return [`--${option} shows ${name} to other users of this machine: use ${instead}`]
  })
}

function defaultsOf(specs: OptionSpecs, environment: Environment): Given {
  const set = Object.entries(specs).flatMap(([name, { variable = '', multiple }]) => {
    const text = environment[variable]
    if (!text) return []
    return [[name, multiple ? text.split(',').map((each) => each.trim()) : text] as const]
  })
  return Object.fromEntries(set)
}

function formatMissing(missing: readonly string[]): string {
  const last = missing.at(-1)
  if (missing.length === 1) return `${last} is missing`
  return `${missing.slice(0, -1).join(', ')} and ${last} are missing`
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
  const options = Object.fromEntries(types)
  const filled = fillBare(args, specs)
  // Strict mode is off, because its errors name the wrong option only in their message.
  const { values, positionals, tokens } = parseArgs({
    args: filled,
    options,
    allowPositionals: true,
    strict: false,
    tokens: true,
  })
  for (const token of tokens) {
    if (token.kind === 'option') assertOption(token, filled[token.index] ?? '', specs)
  }
  return { values, positionals }
}

interface OptionToken {
  readonly name: string
  readonly value: string | undefined
  readonly inlineValue: boolean | undefined
}

function assertOption(
  { name, value, inlineValue }: OptionToken,
  typed: string,
  specs: OptionSpecs,
) {
  const spec = Object.hasOwn(specs, name) ? specs[name] : undefined
  if (!spec) {
    // For `-name`, the parser finds an option `n`, so the error uses the typed text.
    const written = typed.split('=', 1)[0] ?? ''
    const meant = suggest(written.replace(/^-+/, ''), Object.keys(specs))
    throw new UsageError(`Unknown option '${written}'${meant ? `: did you mean --${meant}?` : ''}`)
  }
  if (!spec.value) {
    if (value === undefined) return
    throw new UsageError(`Option '--${name}' does not take an argument`)
  }
  const looksLikeOption = !inlineValue && value !== undefined && /^-./.test(value)
  if (value !== undefined && !looksLikeOption) return
  const hint = looksLikeOption ? `; write one that begins with - as --${name}=-…` : ''
  throw new UsageError(`--${name} takes a value: ${spec.value}${hint}`)
}

/**
 * Adds the value `bare` to an option that is given without a value, because `parseArgs` has no
 * options with an optional value.
 */
function fillBare(args: readonly string[], specs: OptionSpecs): string[] {
  return args.map((arg, index) => {
    const bare = arg.startsWith('--') ? specs[arg.slice(2)]?.bare : undefined
    const hasValue = args[index + 1]?.startsWith('-') === false
    return bare === undefined || hasValue ? arg : `${arg}=${bare}`
  })
}

/** Parses the values. An error names the option, or the variable that stands for it. */
function parseValues(values: Given, given: Given, specs: OptionSpecs): ParsedArguments['options'] {
  const parsed = Object.entries(values).map(([name, value]) => {
    const { parse, variable = '' } = specs[name] ?? {}
    if (!parse) return [name, value]
    const source = given[name] === undefined ? variable : `--${name}`
    const parseOne = (text: string | boolean) => parse(String(text), source)
    return [name, Array.isArray(value) ? value.map(parseOne) : parseOne(value ?? '')]
  })
  return Object.fromEntries(parsed)
}
