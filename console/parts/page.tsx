import { type ComponentChildren, createContext } from 'preact'
import { useContext, useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { formatCount, formatExactTime, formatTime, labelOf } from '../format.ts'
import { Copyable } from './button.tsx'

interface PageProps {
  readonly title: string
  /** Whether the title is an id, which has one line. */
  readonly isId?: boolean
  /** The list that has the record of the page. */
  readonly parent?: readonly [label: string, link: string]
  /** The state of the record, beside the title. */
  readonly badge?: ComponentChildren
  readonly lead?: ComponentChildren
  /** The buttons at the right: other actions first, then the main one. */
  readonly actions?: ComponentChildren
  readonly children: ComponentChildren
}

/** A page with its title, which gets the focus when the page opens. */
export function Page({ title, isId, parent, badge, lead, actions, children }: PageProps) {
  const heading = useRef<HTMLHeadingElement>(null)
  // Takes no focus from a person who types or chooses already.
  useLayoutEffect(() => {
    const isUsed = document.activeElement?.matches('input, select, textarea')
    if (!isUsed) heading.current?.focus({ preventScroll: true })
  }, [])
  useEffect(() => {
    document.title = `${title} · tillkit`
  }, [title])
  return (
    <>
      <header class="title">
        <div>
          {parent && <a href={parent[1]}>{parent[0]}</a>}
          <div class="heading">
            <h1 ref={heading} tabIndex={-1} class={isId ? 'id' : 'name'} dir="auto" title={title}>
              {title}
            </h1>
            {typeof badge === 'string' ? <Badge text={badge} /> : badge}
          </div>
          {lead && <p class="muted">{lead}</p>}
        </div>
        {actions && <div class="actions">{actions}</div>}
      </header>
      {children}
    </>
  )
}

export function Section({
  title,
  actions,
  children,
}: Pick<PageProps, 'title' | 'actions' | 'children'>) {
  return (
    <section class="card">
      <header class="title">
        <h2>{title}</h2>
        {actions}
      </header>
      {children}
    </section>
  )
}

interface TextProps {
  readonly text: string
  readonly href?: string | undefined
  /** A name has two lines at most. Other texts, such as ids, have one. */
  readonly isName?: boolean
  /** The most letters that are shown, of a name in a sentence. */
  readonly most?: number
}

/** A text of any length and script, which is cut at its end. The tooltip has all of it. */
export function Text({ text, href, isName = false, most = text.length }: TextProps) {
  const shown = text.length > most ? `${[...text].slice(0, most).join('')}…` : text
  const attributes = { class: isName ? 'name' : 'id', dir: 'auto', title: text } as const
  return href ? (
    <a href={href} {...attributes}>
      {shown}
    </a>
  ) : (
    <span {...attributes}>{shown}</span>
  )
}

/** A menu of the actions that are rare or dangerous. It closes when the focus leaves it. */
export function More({ children }: { readonly children: ComponentChildren }) {
  const close = (event: FocusEvent) => {
    const menu = event.currentTarget as HTMLDetailsElement
    const isInside = menu.contains(event.relatedTarget as Node | null)
    if (!isInside && !menu.querySelector('dialog')) menu.open = false
  }
  return (
    <details class="more" onFocusOut={close}>
      <summary class="button" aria-label="More actions" title="More actions">
        ⋯
      </summary>
      <div>{children}</div>
    </details>
  )
}

/** Shows its content only while it is open. */
export function Details({ content }: { readonly content: ComponentChildren }) {
  const [isOpen, setOpen] = useState(false)
  return (
    <details onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>Show</summary>
      {isOpen && content}
    </details>
  )
}

/** Whether times are shown in UTC. */
export const Utc = createContext(false)

/** A time. Its tooltip has the seconds and the zone. */
export function Time({ at }: { readonly at: string | undefined }) {
  const isUtc = useContext(Utc)
  if (at === undefined) return <>–</>
  return (
    <time dateTime={at} title={formatExactTime(at, isUtc)}>
      {formatTime(at, isUtc)}
    </time>
  )
}

const STATES = {
  good: 'active, purchased, delivered, for sale, this tab',
  warning: 'archived, refunded, waiting, paused, unconfirmed, sandbox, undone, unsigned',
  bad: 'disabled, cancelled, failed, failing, revoked',
}

/** The state of a record, or another short name. */
export function Badge({ text }: { readonly text: string }) {
  const isOf = ([, states]: [string, string]) => states.split(', ').includes(text)
  const [tone] = Object.entries(STATES).find(isOf) ?? ['plain']
  return <span class={`badge ${tone}`}>{text}</span>
}

/** Shows the value of a field. */
function show(name: string, value: unknown): ComponentChildren {
  if (value === undefined || value === '') return '–'
  if (/^at$|_at$|_since$/.test(name)) return <Time at={value as string} />
  if (name === 'status' || name === 'state') return <Badge text={value as string} />
  if (typeof value === 'number') return formatCount(value)
  return /(sku|subject|actor|id)$/.test(name) ? <Text text={value as string} /> : String(value)
}

/**
 * The place on a narrow screen, where a row has two lines. The first column begins the first line,
 * `end` is at its end, and the others are on the second line: a `labelled` one with its label. A
 * `number` is aligned at its end.
 */
type Place = 'end' | 'hidden' | 'labelled' | 'number' | 'number end' | 'number hidden'

type Field<R> = keyof R & string

/** A field of the records, whose name decides how it is shown, or a label and a cell. */
export type Column<R> =
  | Field<R>
  | readonly [field: Field<R>, place: Place]
  | readonly [label: string, cell: (row: R) => ComponentChildren, place?: Place]

export function parseColumn<R>(column: Column<R>) {
  const [label, cell, place = ''] = typeof column === 'string' ? [column] : column
  if (typeof cell === 'function') return { label, cell, place }
  const field = label as Field<R>
  return { label: labelOf(field), cell: (row: R) => show(field, row[field]), place: cell ?? '' }
}

/** The fields of a record, with buttons that copy ids and keys. */
export function Facts<R>({ of: record, fields }: { of: R; fields: readonly Column<R>[] }) {
  return (
    <dl class="facts">
      {fields.map((field) => {
        const { label, cell } = parseColumn(field)
        const isCopied = typeof field === 'string' && /(^id|_id|_key)$/.test(field)
        return (
          <div key={label}>
            <dt>{label}</dt>
            <dd>
              {isCopied ? <Copyable label={label} text={String(record[field])} /> : cell(record)}
            </dd>
          </div>
        )
      })}
    </dl>
  )
}
