import { useRef } from 'preact/hooks'
import type { Page } from '../../client/manage.ts'
import { fillPage, type PageRequest, type Signal, useLoad } from '../data.ts'
import { goTo, linkTo, usePlace } from '../place.ts'
import { Button } from './button.tsx'
import { Await, Empty } from './notice.tsx'
import { type Column, parseColumn } from './page.tsx'

interface TableProps<R> {
  readonly label: string
  readonly columns: readonly Column<R>[]
  readonly rows: readonly R[]
  /** Needed if a row can be open while the rows change. */
  readonly keyOf?: ((row: R) => string) | undefined
}

/** A table. On narrow screens each row has two lines. A `hidden` column needs a value in some row. */
export function Table<R>({ label, columns: given, rows, keyOf }: TableProps<R>) {
  const columns = given
    .map(parseColumn)
    .filter(({ cell, place }) => !place.includes('hidden') || rows.some((row) => cell(row) !== '–'))
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

type EmptyList = readonly [
  title: string,
  text: string,
  next?: readonly [label: string, href: string],
]

interface ListProps<Q, N extends string, R> extends Omit<TableProps<R>, 'rows'> {
  /** The method of the client that reads one page. */
  readonly list: (query: Q, options: Signal) => Promise<Page<N, R>>
  readonly query: Omit<Q, keyof PageRequest>
  /** Loads the page again after so many milliseconds. */
  readonly interval?: number
  /** Shown when there are no rows without filters: a title, a text and a link to the next step. */
  readonly empty: EmptyList
}

/** Milliseconds between the keys of a person who types. */
const TYPING_MS = 200

/** Separates the cursors of the passed pages in the URL. */
const SEPARATOR = ' '

/** A table of one page of a list, with buttons for the other pages. The URL has the page. */
export function List<Q, N extends string, R>(props: ListProps<Q, N, R>) {
  const { list, query, interval, empty, ...table } = props
  const { page, id, query: shown } = usePlace()
  const cursors = shown.at?.split(SEPARATOR) ?? []
  const loaded = useLoad(
    ({ query, cursor }, options) =>
      fillPage((page) => list({ ...query, ...page } as Q, options), cursor),
    { query, cursor: cursors.at(-1) },
    { interval, delay: TYPING_MS },
  )
  const next = loaded.isLoading ? undefined : loaded.value?.next
  const all = linkTo(page, id)
  const isFiltered = all !== linkTo(page, id, { ...shown, at: undefined })
  const unmatched: EmptyList = [
    'Nothing matches',
    'Clear a filter. Ids must be whole.',
    ['Show all', all],
  ]
  const [title, text, step] = next ? SEARCHED : isFiltered ? unmatched : empty
  const top = useRef<HTMLDivElement>(null)
  const show = (cursors: readonly string[]) => {
    goTo(linkTo(page, id, { ...shown, at: cursors.join(SEPARATOR) }))
    top.current?.scrollIntoView()
  }
  /** A button that keeps the focus when there is no further page. */
  const turn = (label: string, to: readonly string[] | undefined) => (
    <Button label={label} aria-disabled={!to} onClick={() => to && show(to)} />
  )
  return (
    <div class="loaded" ref={top}>
      <Await loaded={loaded}>
        {({ rows }) =>
          rows.length > 0 ? (
            <Table {...table} rows={rows} />
          ) : (
            <Empty title={title} text={text} next={step} />
          )
        }
      </Await>
      {(next || cursors.length > 0) && (
        <nav class="actions" aria-label={`Pages of ${table.label}`}>
          {turn('Previous', cursors.length > 0 ? cursors.slice(0, -1) : undefined)}
          <span aria-live="polite">Page {cursors.length + 1}</span>
          {turn('Next', next ? [...cursors, next] : undefined)}
        </nav>
      )}
    </div>
  )
}

const SEARCHED = [
  'Nothing found so far',
  'The server searches a large store in parts. Choose Next to search on.',
] as const
