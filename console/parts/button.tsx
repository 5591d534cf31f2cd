import type { ButtonHTMLAttributes } from 'preact'
import { useState } from 'preact/hooks'

/** A button that submits nothing. */
export function Button({
  label,
  ...attributes
}: ButtonHTMLAttributes & { readonly label: string }) {
  return (
    <button type="button" {...attributes}>
      {label}
    </button>
  )
}

/** A text with a button that copies it. Without TLS, browsers allow no copying: it is selected. */
export function Copyable({ label, text }: { readonly label: string; readonly text: string }) {
  const [isCopied, setCopied] = useState(false)
  const copy = async (event: MouseEvent) => {
    const shown = (event.currentTarget as HTMLElement).previousElementSibling
    if (shown) getSelection()?.selectAllChildren(shown)
    await navigator.clipboard?.writeText(text)
    setCopied(navigator.clipboard !== undefined)
  }
  const verb = isCopied ? 'Copied' : 'Copy'
  return (
    <span class="copyable">
      <code class="id" title={text}>
        {text}
      </code>
      <button
        type="button"
        class="icon"
        title={verb}
        aria-label={`${verb}: ${label}`}
        onClick={copy}
      >
        <Icon name={isCopied ? 'done' : 'copy'} />
      </button>
    </span>
  )
}

/** The paths of the icons, in a square of 16 units. */
const PATHS = {
  overview: 'M2 14V8m4 6V3m4 11V6m4 8V10',
  purchases: 'M3 1.5h10V14.5l-2.5-1.5L8 14.5 5.5 13 3 14.5zM5.5 5h5m-5 3h5',
  items: 'M2 7.5V2h5.5L14 8.5 8.5 14zM5 5h.01',
  import: 'M8 2v8m-3-3 3 3 3-3M2 11v3h12v-3',
  player: 'M8 8a3 3 0 1 0 0-6 3 3 0 0 0 0 6m-6 6c0-3 3-4 6-4s6 1 6 4',
  projects: 'M2 6v8h12V6M1 6l2-4h10l2 4zM6 14v-4h4v4',
  webhooks: 'M9 1 3 9h4l-1 6 7-9H9z',
  activity: 'M8 4v4l3 2M8 14.5a6.5 6.5 0 1 0 0-13 6.5 6.5 0 0 0 0 13',
  keys: 'M5 14a3 3 0 1 0 0-6 3 3 0 0 0 0 6m2-5 7-7m-3 3 2 2',
  copy: 'M6 6h8v8H6zM4 10H2V2h8v2',
  done: 'M2 8.5 6 12.5 14 4',
}

/** An icon beside a text, or in a button that has a label. */
export function Icon({ name }: { readonly name: string }) {
  const path = PATHS[name as keyof typeof PATHS]
  if (!path) return null
  return (
    <svg viewBox="0 0 16 16" width="16" height="16" aria-hidden="true">
      <path d={path} fill="none" stroke="currentColor" stroke-width="1.5" />
    </svg>
  )
}
