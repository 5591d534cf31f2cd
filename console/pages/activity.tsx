import type { AuditEntry, Item, Page as ListPage, RecentAuditQuery } from '../../client/manage.ts'
import type { AuditAction } from '../../lib/domain/audit.ts'
import { type Signal, useLoad } from '../data.ts'
import { currencyOf, formatCount, formatMoney } from '../format.ts'
import { Filters } from '../parts/form.tsx'
import { Details, Page, Text } from '../parts/page.tsx'
import { List } from '../parts/table.tsx'
import { linkTo, usePlace } from '../place.ts'
import { useScope } from '../scope.tsx'
import { client } from '../session.ts'

/** The page of a subject, or `text` for one without a page. */
type Kind = 'keys' | 'projects' | 'stores' | 'items' | 'webhooks' | 'import' | 'purchase' | 'text'

/** What each action did, and the kind of its subject. */
const SENTENCES: { readonly [A in AuditAction]: readonly [verb: string, kind?: Kind] } = {
  'account.create': ['created the account'],
  'account_key.add': ['added the key', 'keys'],
  'account_key.update': ['changed the key', 'keys'],
  'account_key.revoke': ['revoked the key', 'keys'],
  'project.create': ['created the project', 'projects'],
  'project.update': ['changed the project', 'projects'],
  'project.rotate_key': ['changed the public key of', 'projects'],
  'store.create': ['created the store', 'stores'],
  'store.update': ['changed the store', 'stores'],
  'item.create': ['created', 'items'],
  'item.update': ['changed', 'items'],
  'item.archive': ['archived', 'items'],
  'item.restore': ['restored', 'items'],
  'purchases.import': ['imported', 'import'],
  'purchases.record': ['recorded the purchase', 'purchase'],
  'purchases.refund': ['refunded', 'purchase'],
  'purchases.deliver': ['delivered', 'purchase'],
  'purchases.reconcile': ['cancelled what a file lacks:', 'import'],
  'imports.undo': ['undid the import of', 'import'],
  'tokens.issue': ['issued a token'],
  'tokens.revoke': ['revoked the tokens of', 'text'],
  'signing_keys.rotate': ['rotated the signing keys'],
  'secrets.seal': ['encrypted the secrets'],
  'secrets.drop': ['removed the secrets'],
  'audit.archive': ['archived the activity before', 'text'],
  'catalog.apply': ['applied a catalog to', 'projects'],
  'users.export': ['exported the player', 'text'],
  'users.erase': ['erased the player', 'text'],
  'webhooks.test': ['sent a test to', 'webhooks'],
  'webhooks.replay': ['replayed events to', 'webhooks'],
  'webhooks.resend': ['resent a message to', 'webhooks'],
  'webhooks.pause': ['paused', 'webhooks'],
  'webhooks.resume': ['resumed', 'webhooks'],
  'webhooks.update': ['selected the events of', 'webhooks'],
  'webhooks.confirm': ['confirmed the URL of', 'webhooks'],
}

const FILTERS = [
  { label: 'About (id)', name: 'subject', kind: 'search' },
  { label: 'Day (UTC)', name: 'day', kind: 'date' },
] as const

/** The most letters of a name in a sentence: a line of a phone. */
const MOST_LETTERS = 48

/** The actors that are no keys. */
const ACTORS: { readonly [actor: string]: string } = {
  operator: 'The operator',
  token: 'A session',
}

/** An entry with the item that it is about. */
type Entry = AuditEntry & { readonly item?: Item | undefined }

async function listEntries(
  query: RecentAuditQuery,
  options: Signal,
): Promise<ListPage<'entries', Entry>> {
  const { entries, ...next } = await client.audit.list(query, options)
  const ids = entries.filter(({ action }) => action.startsWith('item.')).map((each) => each.subject)
  const read = (id: string) => client.items.get(id, options).catch(() => undefined)
  const items = await Promise.all([...new Set(ids)].map(read))
  const withItem = (entry: AuditEntry): Entry => {
    return { ...entry, item: items.find((item) => item?.id === entry.subject) }
  }
  return { entries: entries.map(withItem), ...next }
}

/** Returns a function that shows an entry as `Ann changed the price of Sword from $4.99 to $5.99`. */
export function useSentences() {
  const { projects = [], stores = [] } = useScope().value ?? {}
  const { keys = [] } = useLoad(client.keys.list, { limit: 1000 }).value ?? {}
  const names = new Map([
    ...keys.map(({ key_id, name }) => [key_id, name || 'Unnamed key'] as const),
    ...projects.map(({ id, name }) => [id, name] as const),
  ])
  /** The name of a subject, with a link to its page. */
  const about = (kind: Kind, { subject, store_id: store, item, data }: Entry) => {
    const place = { project: undefined, store }
    if (kind === 'text') return <Text text={subject} />
    if (kind === 'import') {
      const text = `${formatCount(Number(data?.added ?? 0), 'purchase')} into ${store}`
      const link = linkTo('purchases', '', { ...place, import_id: subject })
      return <Text isName text={text} href={link} />
    }
    if (kind === 'purchase') {
      const id = subject.slice(store.length + 1)
      return <Text text={id} href={linkTo('purchases', id, place)} />
    }
    const name = item?.display_name ?? names.get(subject) ?? subject
    const text = kind === 'webhooks' ? 'a webhook' : name
    const link = linkTo(kind, kind === 'keys' ? '' : subject)
    return <Text isName most={MOST_LETTERS} text={text} href={link} />
  }
  return (entry: Entry) => {
    const { action, actor, data, item } = entry
    const [verb, kind] = SENTENCES[action] ?? [action, 'text']
    const [who = '', key = ''] = actor.split(':')
    const change = action.startsWith('item.') ? data?.price : undefined // not that of a purchase
    const price = change as { readonly old: number; readonly new: number } | undefined
    const store = item && stores.find(({ store_id }) => store_id === item.store_id)
    const money = (minor: number) => formatMoney(minor, store ? currencyOf(store) : '')
    const fields = Array.isArray(data?.changed) ? data.changed.join(', ').replaceAll('_', ' ') : ''
    return (
      <p class="sentence">
        <strong>{ACTORS[who] ?? names.get(key) ?? actor}</strong> {verb}{' '}
        {fields && `the ${fields} of `}
        {kind && about(kind, entry)}
        {price && ` from ${money(price.old)} to ${money(price.new)}`}
      </p>
    )
  }
}

/** The audit log of the account as sentences. */
export function Activity() {
  const { subject, day } = usePlace().query
  const sentence = useSentences()
  return (
    <Page title="Activity" lead="Who changed what in the account, newest first">
      <Filters fields={FILTERS} />
      <List
        label="Activity"
        list={listEntries}
        query={{
          ...(subject && { subject }),
          ...(day && { from: day, to: `${day}T23:59:59.999Z` }),
        }}
        keyOf={(entry) => JSON.stringify(entry)}
        columns={[
          ['Change', sentence],
          'at',
          ['Details', (entry) => <Details content={<pre>{textOf(entry)}</pre>} />, 'end'],
        ]}
        empty={['Nothing has happened yet', 'Each change of the account appears here.']}
      />
    </Page>
  )
}

function textOf({ item: _, account_id: __, ...entry }: Entry): string {
  return JSON.stringify(entry, null, 2)
}
