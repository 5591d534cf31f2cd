import type { ComponentChildren } from 'preact'
import type { Paged } from '../data.ts'
import { Await, Empty } from './notice.tsx'

export interface Column<R> {
  readonly label: string
  readonly cell: (row: R) => ComponentChildren
  /** Numbers are aligned at their ends. */
  readonly isNumber?: boolean
}

interface TableProps<R> {
  readonly label: string
  readonly columns: readonly Column<R>[]
  readonly rows: readonly R[]
  readonly keyOf: (row: R, index: number) => string
}

/** A table. On narrow screens each row is a block with the labels of the columns in front. */
export function Table<R>({ label, columns, rows, keyOf }: TableProps<R>) {
  return (
    // The roles are needed because `display: block` removes those of the elements.
    // biome-ignore-start lint/a11y/noRedundantRoles: see above
    // biome-ignore-start lint/a11y/useSemanticElements: see above
    <table role="table" aria-label={label}>
      <thead role="rowgroup">
        <tr role="row">
          {columns.map(({ label, isNumber }) => (
            <th key={label} role="columnheader" scope="col" class={isNumber ? 'number' : ''}>
              {label}
            </th>
          ))}
        </tr>
      </thead>
      <tbody role="rowgroup">
        {rows.map((row, index) => (
          <tr role="row" key={keyOf(row, index)}>
            {columns.map(({ label, cell, isNumber }) => (
              <td key={label} role="cell" data-label={label} class={isNumber ? 'number' : ''}>
                <span>{cell(row)}</span>
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

interface PagesProps<R> extends Omit<TableProps<R>, 'rows'> {
  readonly paged: Paged<R>
  /** Shown when the list has no rows at all. */
  readonly empty: ComponentChildren
}

/** A table of one page of a list, with buttons for the other pages. */
export function Pages<R>({ paged, empty, ...table }: PagesProps<R>) {
  const { page, forward, back } = paged
  return (
    <Await loaded={paged}>
      {({ rows }) => (
        <>
          {rows.length > 0 && <Table {...table} rows={rows} />}
          {rows.length === 0 && (forward ? <SearchedPart /> : empty)}
          {(forward || back) && (
            <nav class="pages" aria-label={`Pages of ${table.label}`}>
              <button type="button" disabled={!back} onClick={back}>
                Previous
              </button>
              <span aria-live="polite">Page {page}</span>
              <button type="button" disabled={!forward} onClick={forward}>
                Next
              </button>
            </nav>
          )}
        </>
      )}
    </Await>
  )
}

function SearchedPart() {
  return (
    <Empty title="Nothing found so far">
      <p>The server searches a large store in parts. Choose Next to search on.</p>
    </Empty>
  )
}
