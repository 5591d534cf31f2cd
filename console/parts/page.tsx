import { type ComponentChildren, createContext } from 'preact'
import { useContext, useEffect, useRef } from 'preact/hooks'
import { formatCount, formatTime } from '../format.ts'

interface PageProps {
  readonly title: string
  readonly lead?: ComponentChildren
  /** The buttons beside the title. */
  readonly actions?: ComponentChildren
  readonly children: ComponentChildren
}

/** A page with its title, which gets the focus when the page opens. */
export function Page({ title, lead, actions, children }: PageProps) {
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => heading.current?.focus({ preventScroll: true }), [])
  useEffect(() => {
    document.title = `${title} · tillkit`
  }, [title])
  return (
    <>
      <header class="title">
        <div>
          <h1 ref={heading} tabIndex={-1}>
            {title}
          </h1>
          {lead && <p class="muted">{lead}</p>}
        </div>
        {actions && <div class="actions">{actions}</div>}
      </header>
      {children}
    </>
  )
}

export function Section({ title, children }: Pick<PageProps, 'title' | 'children'>) {
  return (
    <section class="card">
      <h2>{title}</h2>
      {children}
    </section>
  )
}

/** Whether times are shown in UTC. */
export const Utc = createContext(false)

/** A time. Its tooltip shows the time in the other zone. */
export function Time({ at }: { readonly at: string | undefined }) {
  const isUtc = useContext(Utc)
  if (at === undefined) return <>–</>
  return (
    <time dateTime={at} title={formatTime(at, !isUtc)}>
      {formatTime(at, isUtc)}
    </time>
  )
}

const STATES = {
  good: ['active', 'purchased', 'delivered', 'for sale', 'this tab'],
  warning: [
    'archived',
    'refunded',
    'waiting',
    'paused',
    'unconfirmed',
    'sandbox',
    'undone',
    'unsigned',
  ],
  bad: ['disabled', 'cancelled', 'failed', 'failing', 'revoked'],
}

/** The state of a record, or another short name. */
export function Badge({ text }: { readonly text: string }) {
  const tone = Object.entries(STATES).find(([, states]) => states.includes(text))?.[0] ?? 'plain'
  return <span class={`badge ${tone}`}>{text}</span>
}

/** Shows the value of a field. */
export function show(name: string, value: unknown): ComponentChildren {
  if (value === undefined || value === '') return '–'
  if (name === 'at' || name.endsWith('_at')) return <Time at={value as string} />
  if (name === 'status' || name === 'state') return <Badge text={value as string} />
  if (typeof value === 'number') return formatCount(value)
  return /(sku|subject|actor|_id)$/.test(name) ? <code>{value as string}</code> : String(value)
}

interface FactsProps {
  readonly facts: readonly (readonly [label: string, value: ComponentChildren])[]
}

/** Names and values, such as the fields of a record. */
export function Facts({ facts }: FactsProps) {
  return (
    <dl class="facts">
      {facts.map(([label, value]) => (
        <div key={label}>
          <dt>{label}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  )
}
