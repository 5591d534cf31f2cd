import { useState } from 'preact/hooks'
import { Icon } from './icon.tsx'

interface CopyableProps {
  /** The name of the text, for the button. */
  readonly label: string
  readonly text: string
}

/** A text with a button that copies it. Without TLS, browsers allow no copying: it is selected. */
export function Copyable({ label, text }: CopyableProps) {
  const [isCopied, setCopied] = useState(false)
  const copy = async (event: MouseEvent) => {
    const shown = (event.currentTarget as HTMLElement).previousElementSibling
    if (shown) getSelection()?.selectAllChildren(shown)
    await navigator.clipboard?.writeText(text)
    setCopied(navigator.clipboard !== undefined)
  }
  return (
    <span class="copyable">
      <code>{text}</code>
      <button
        type="button"
        class="icon"
        title={isCopied ? 'Copied' : 'Copy'}
        aria-label={isCopied ? `Copied ${label}` : `Copy ${label}`}
        onClick={copy}
      >
        <Icon name={isCopied ? 'done' : 'copy'} />
      </button>
    </span>
  )
}
