import type { PlainValue, Row, Table } from './columns.ts'

// Each storage method is written once, as a generator that yields statements and receives their
// results. SQLite runs it synchronously, in one turn of the event loop. PostgreSQL awaits each step.

export type Value = PlainValue | boolean | object

export interface Query {
  readonly sql: string
  readonly values: readonly Value[]
}

export interface Statement {
  /** Has a `?` for each value. */
  readonly sql: string
  /** SQLite stores an object as JSON text, and a boolean as a number. */
  readonly values: readonly Value[]
  /**
   * `row` is the first row, if there is one. `count` is the number of changed rows. PostgreSQL sends
   * `json` rows as one text: with 20 columns, reading it takes half of the CPU time.
   */
  readonly returns: 'rows' | 'json' | 'row' | 'count'
  /** Returns the result from the rows. SQLite reads only the rows that it iterates over. */
  readonly take?: (rows: Iterable<Row>) => unknown
}

/** Makes the commit of the transaction call the listeners for writes. */
export interface Notice {
  readonly isAudited: boolean
}

/** PostgreSQL sends the statements of an array together, in one round trip. */
export type Step = Statement | readonly Statement[] | Notice

export type Program<T> = Generator<Step, T, unknown>

/** A statement whose result is its first row. */
export function finding(sql: string, ...values: Value[]): Statement {
  return { sql, values, returns: 'row' }
}

/** Reads all rows. */
export function* all(sql: string, ...values: Value[]): Program<Row[]> {
  return (yield { sql, values, returns: 'rows' }) as Row[]
}

/** Reads the first row; undefined if there is none. */
export function* find(sql: string, ...values: Value[]): Program<Row | undefined> {
  return (yield { sql, values, returns: 'row' }) as Row | undefined
}

/** Reads as many rows as `take` iterates over. Returns its result. */
export function* some<T>(
  take: (rows: Iterable<Row>) => T,
  sql: string,
  ...values: Value[]
): Program<T> {
  return (yield { sql, values, returns: 'rows', take }) as T
}

/** Like `some`, for rows with many columns: see `returns`. */
export function* someWide<T>(
  take: (rows: Iterable<Row>) => T,
  sql: string,
  ...values: Value[]
): Program<T> {
  return (yield { sql, values, returns: 'json', take }) as T
}

/** Runs a statement that writes. Returns the number of changed rows. */
export function* run(sql: string, ...values: Value[]): Program<number> {
  return (yield { sql, values, returns: 'count' }) as number
}

/** Inserts a record. Returns 0 if another row has the same values in the unique columns. */
export function* insert<R>(table: Table<R>, record: R): Program<number> {
  return (yield { sql: table.insertion, values: table.values(record), returns: 'count' }) as number
}

/** Finds the first row of each statement, in one round trip. Omits the missing statements. */
export function* findTogether(
  ...statements: readonly (Statement | undefined)[]
): Program<(Row | undefined)[]> {
  const given = statements.filter((each) => each !== undefined)
  const found = ((yield given) as (Row | undefined)[]).values()
  return statements.map((each) => each && found.next().value)
}
