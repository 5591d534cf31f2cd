import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import type { Page } from '../../client/manage.ts'
import { fillPage, type PageRequest, useLoad } from '../data.ts'
import { Await, Empty } from './notice.tsx'
import { type Column, parseColumn } from './page.tsx'

interface TableProps<R> {
  readonly label: string
  readonly columns: readonly Column<R>[]
  readonly rows: readonly R[]
  /** Needed if a row can be open while the rows change. */
  readonly keyOf?: ((row: R) => string) | undefined
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
          <tr role="row" key={keyOf?.(row) ?? index}>
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

interface ListProps<Q, N extends string, R> extends Omit<TableProps<R>, 'rows'> {
  /** The method of the client that reads one page. */
  readonly list: (query: Q, options: { signal: AbortSignal }) => Promise<Page<N, R>>
  readonly query: Omit<Q, keyof PageRequest>
  /** Loads the page again after so many milliseconds. */
  readonly interval?: number
  /** Shown when the list has no rows at all: a title, a text and the next step. */
  readonly empty: readonly [title: string, text: ComponentChildren, next?: ComponentChildren]
}

/** Milliseconds between the keys of a person who types. */
const TYPING_MS = 200

/** A table of one page of a list, with buttons for the other pages. */
export function List<Q, N extends string, R>(props: ListProps<Q, N, R>) {
  const { list, query, interval, empty, ...table } = props
  const key = JSON.stringify(query)
  const [passed, setPassed] = useState({ key, cursors: [] as readonly string[] })
  const cursors = passed.key === key ? passed.cursors : []
  const show = (cursors: readonly string[]) => setPassed({ key, cursors })
  const loaded = useLoad(
    (signal) => {
      const read = (page: PageRequest) => list({ ...query, ...page } as Q, { signal })
      return fillPage(read, cursors.at(-1))
    },
    [key, cursors.at(-1)],
    { interval, delay: TYPING_MS },
  )
  const next = loaded.isLoading ? undefined : loaded.value?.next
  const [title, text, step] = next ? SEARCHED : empty
  return (
    <Await loaded={loaded}>
      {({ rows }) => (
        <>
          {rows.length > 0 && <Table {...table} rows={rows} />}
          {rows.length === 0 && (
            <Empty title={title}>
              <p>{text}</p>
              {step}
            </Empty>
          )}
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
