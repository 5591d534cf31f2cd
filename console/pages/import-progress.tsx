import type { ComponentChildren } from 'preact'
import { formatBytes } from '../format.ts'
import { Loading } from '../parts/notice.tsx'

/** The request under way: a check, or the import itself. */
export type Step = 'check' | 'import'

interface ProgressProps {
  readonly step: Step
  /** The bytes of the file that are sent. */
  readonly sent: number
  readonly size: number
  /** The button that stops the request. */
  readonly children: ComponentChildren
}

const WORK = {
  check: 'The server checks the rows, and stores nothing',
  import: 'The server stores the rows',
}

export function ImportProgress({ step, sent, size, children }: ProgressProps) {
  const isSending = sent < size
  return (
    <>
      <Loading
        what={isSending ? `Sending ${formatBytes(sent)} of ${formatBytes(size)}` : WORK[step]}
      />
      <progress
        aria-label={step === 'check' ? 'Check' : 'Import'}
        {...(isSending && { value: sent, max: size })}
      />
      <div class="actions">{children}</div>
    </>
  )
}
