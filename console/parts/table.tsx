import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import type { Page } from '../../client/manage.ts'
import { fillPage, type PageRequest, useLoad } from '../data.ts'
import { Await, Empty } from './notice.tsx'
import { show } from './page.tsx'
import { labelOf } from './rules.ts'

/**
 * The place on a narrow screen, where a row has two lines. The first column begins the first line,
 * `end` is at its end, and the others are on the second line. A `number` is aligned at its end.
 */
type Place = 'end' | 'hidden' | 'number' | 'number end' | 'number hidden'

/** A field of the rows, whose name decides how it is shown, or a label and a cell. */
export type Column<R> =
  | Field<R>
  | readonly [field: Field<R>, place: Place]
  | readonly [label: string, cell: (row: R) => ComponentChildren, place?: Place]

type Field<R> = keyof R & string

function parseColumn<R>(column: Column<R>) {
  const [label, cell, place = ''] = typeof column === 'string' ? [column] : column
  if (typeof cell === 'function') return { label, cell, place }
  const field = label as Field<R>
  return { label: labelOf(field), cell: (row: R) => show(field, row[field]), place: cell ?? '' }
}

interface TableProps<R> {
  readonly label: string
  readonly columns: readonly Column<R>[]
  readonly rows: readonly R[]
  readonly keyOf: (row: R, index: number) => string
}

/** A table. On narrow screens each row has two lines. */
export function Table<R>({ label, columns: given, rows, keyOf }: TableProps<R>) {
  const columns = given.map(parseColumn)
  return (
    // The roles are needed because `display: block` removes those of the elements.
    // biome-ignore-start lint/a11y/noRedundantRoles: see above
    // biome-ignore-start lint/a11y/useSemanticElements: see above
    <table role="table" aria-label={label}>
      <thead role="rowgroup">
        <tr role="row">
          {columns.map(({ label, place }) => (
            <th key={label} role="columnheader" scope="col" class={place}>
              {label}
            </th>
          ))}
        </tr>
      </thead>
      <tbody role="rowgroup">
        {rows.map((row, index) => (
          <tr role="row" key={keyOf(row, index)}>
            {columns.map(({ label, cell, place }) => (
              <td key={label} role="cell" class={place} data-label={label}>
                {cell(row)}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
    // biome-ignore-end lint/a11y/useSemanticElements: see above
    // biome-ignore-end lint/a11y/noRedundantRoles: see above
  )
}

interface ListProps<N extends string, R> extends Omit<TableProps<R>, 'rows'> {
  /** Loads one page of the list. */
  readonly load: (page: PageRequest, options: { signal: AbortSignal }) => Promise<Page<N, R>>
  /** The name of the rows in a page. */
  readonly of: N
  /** A change of these loads the first page again. */
  readonly inputs: readonly unknown[]
  /** Loads the page again after so many milliseconds. */
  readonly pause?: number
  /** Shown when the list has no rows at all: a title, a text and the next step. */
  readonly empty: readonly [title: string, text: ComponentChildren, next?: ComponentChildren]
}

/** A table of one page of a list, with buttons for the other pages. */
export function List<N extends string, R>(props: ListProps<N, R>) {
  const { load, of, inputs, pause, empty, ...table } = props
  const key = JSON.stringify(inputs)
  const [passed, setPassed] = useState({ key, cursors: [] as readonly string[] })
  const cursors = passed.key === key ? passed.cursors : []
  const show = (cursors: readonly string[]) => setPassed({ key, cursors })
  const loaded = useLoad(
    (signal) => fillPage((page) => load(page, { signal }), of, cursors.at(-1)),
    [key, cursors.at(-1)],
    () => pause,
  )
  const next = loaded.isLoading ? undefined : loaded.value?.next
  return (
    <Await loaded={loaded}>
      {({ rows }) => (
        <>
          {rows.length > 0 && <Table {...table} rows={rows} />}
          {rows.length === 0 && <NoRows {...{ empty: next ? SEARCHED : empty }} />}
          {(next || cursors.length > 0) && (
            <nav class="actions" aria-label={`Pages of ${table.label}`}>
              <button
                type="button"
                disabled={cursors.length === 0}
                onClick={() => show(cursors.slice(0, -1))}
              >
                Previous
              </button>
              <span aria-live="polite">Page {cursors.length + 1}</span>
              <button
                type="button"
                disabled={!next}
                onClick={() => next && show([...cursors, next])}
              >
                Next
              </button>
            </nav>
          )}
        </>
      )}
    </Await>
  )
}

const SEARCHED = [
  'Nothing found so far',
  'The server searches a large store in parts. Choose Next to search on.',
] as const

function NoRows({ empty: [title, text, next] }: Pick<ListProps<string, unknown>, 'empty'>) {
  return (
    <Empty title={title}>
      <p>{text}</p>
      {next}
    </Empty>
  )
}
