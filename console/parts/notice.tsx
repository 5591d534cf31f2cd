import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { type ErrorDetail, TillError } from '../../client/manage.ts'
import { type Loaded, reloadAll } from '../data.ts'
import { secondsToWait } from '../session.ts'
import { Button } from './button.tsx'

type Tone = 'info' | 'good' | 'warning' | 'bad'

const MARKS: { readonly [T in Tone]: string } = { info: 'i', good: '✓', warning: '!', bad: '✕' }

export interface NoticeProps {
  readonly tone?: Tone
  readonly title: string
  readonly children?: ComponentChildren
}

/** A message in the page. Screen readers announce it. */
export function Notice({ tone = 'info', title, children }: NoticeProps) {
  return (
    <div class={`notice ${tone}`} role={tone === 'bad' ? 'alert' : 'status'}>
      <span class="mark" aria-hidden="true">
        {MARKS[tone]}
      </span>
      <div>
        <p class="title">{title}</p>
        {children}
      </div>
    </div>
  )
}

interface FailureProps {
  readonly error: unknown
  readonly onRetry?: (() => void) | undefined
  /** The fields of a form, which show their errors themselves. */
  readonly shown?: readonly string[]
}

/** The error of a call, in the server's words. */
export function Failure({ error, onRetry, shown = [] }: FailureProps) {
  if (error === undefined) return null
  const [title, text] = describe(error)
  const all = detailsOf(error)
  const details = all.filter(({ field }) => !fieldAmong(shown, field))
  return (
    <Notice tone="bad" title={title}>
      {details.length === all.length && <p>{text}</p>}
      {details.length > 0 && (
        <ul>
          {details.slice(0, 10).map(({ field, line, message }) => (
            <li key={`${field} ${line} ${message}`}>
              {field && <code>{field}</code>} {line && `line ${line}`} {message}
            </li>
          ))}
        </ul>
      )}
      {error instanceof TillError && error.requestId && error.status >= 500 && (
        <p class="muted">
          The server’s log has the cause under the request id <code>{error.requestId}</code>.
        </p>
      )}
      {onRetry && <Button label="Try again" onClick={onRetry} />}
    </Notice>
  )
}

/** The title and the text of an error. */
function describe(error: unknown): readonly [title: string, text: string] {
  const text = error instanceof Error ? error.message : String(error)
  if (!(error instanceof TillError)) return ['This did not work', text]
  if (error.code === 'timeout') return ['The server takes too long', text]
  if (error.code !== 'network_error') return [error.title, text]
  return ['The server does not answer', 'Check that it runs and that you are connected.']
}

/** The name of the field that shows a mistake: `config.tags` for one in `config.tags[2]`. */
export function fieldAmong(names: readonly string[], field = ''): string | undefined {
  const shows = (name: string) =>
    field === name || field.startsWith(`${name}.`) || field.startsWith(`${name}[`)
  return names.filter(shows).sort((a, b) => b.length - a.length)[0]
}

export function detailsOf(error: unknown): readonly ErrorDetail[] {
  return (error as Partial<TillError> | undefined)?.details ?? []
}

interface EmptyProps {
  readonly title: string
  readonly text?: string
  /** A link to the next step. */
  readonly next?: readonly [label: string, href: string] | undefined
}

/** Shown instead of an empty list. */
export function Empty({ title, text, next }: EmptyProps) {
  return (
    <div class="empty">
      <p class="title">{title}</p>
      {text && <p>{text}</p>}
      {next && (
        <a class="button primary" href={next[1]}>
          {next[0]}
        </a>
      )}
    </div>
  )
}

interface AwaitProps<T> {
  readonly loaded: Loaded<T | undefined>
  readonly children: (value: T) => ComponentChildren
}

/** Shows a value when it is loaded, and until then that it loads. An error stands above the value. */
export function Await<T>({ loaded: { value, error, isLoading }, children }: AwaitProps<T>) {
  const isStale = isLoading || error !== undefined
  return (
    <>
      <Failure error={error} onRetry={reloadAll} />
      {value !== undefined ? (
        <div class={isStale ? 'loaded stale' : 'loaded'} aria-busy={isLoading}>
          {children(value)}
        </div>
      ) : (
        error === undefined && <Loading />
      )}
    </>
  )
}

export function Loading({ what = 'Loading' }) {
  return (
    <div class="loading" role="status">
      {what}…
      <Slow />
    </div>
  )
}

/** Appears after two seconds, by an animation. Counts the seconds until a repetition after a 429. */
export function Slow() {
  const [seconds, setSeconds] = useState(0)
  useEffect(() => {
    const timer = setInterval(() => setSeconds(secondsToWait()), 250)
    return () => clearInterval(timer)
  }, [])
  const text =
    seconds > 0
      ? `Too many requests. The next attempt is in ${seconds} s.`
      : 'The server is slow. Still waiting…'
  return <p class="slow">{text}</p>
}
