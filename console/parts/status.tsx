import { Badge } from './page.tsx'

/** The status of a project or a store. */
export function StatusBadge({ status }: { readonly status: string }) {
  const isOff = status === 'disabled' || status === 'archived'
  return <Badge tone={isOff ? 'bad' : status === 'active' ? 'good' : 'plain'} text={status} />
}
