import { useState } from 'preact/hooks'

/** A text with a button that copies it. Without TLS, browsers allow no copying: it is selected. */
export function Copyable({ label, text }: { readonly label: string; readonly text: string }) {
  const [isCopied, setCopied] = useState(false)
  const copy = async (event: MouseEvent) => {
    const shown = (event.currentTarget as HTMLElement).previousElementSibling
    if (shown) getSelection()?.selectAllChildren(shown)
    await navigator.clipboard?.writeText(text)
    setCopied(navigator.clipboard !== undefined)
  }
  return (
    <span class="actions">
      <span class="muted">{label}</span>
      <code>{text}</code>
      <button type="button" onClick={copy} aria-label={`Copy ${label}`}>
        {isCopied ? 'Copied' : 'Copy'}
      </button>
    </span>
  )
}
