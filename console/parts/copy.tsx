import { useState } from 'preact/hooks'
import { Icon } from './icon.tsx'

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
