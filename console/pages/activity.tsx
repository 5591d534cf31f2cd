import type { ComponentChildren } from 'preact'
import type { AuditEntry, Item, Page as ListPage, RecentAuditQuery } from '../../client/manage.ts'
import type { AuditAction } from '../../lib/domain/audit.ts'
import { useLoad } from '../data.ts'
import { currencyOf, formatCount, formatMoney } from '../format.ts'
import { Filters } from '../parts/form.tsx'
import { Details, Page, Text } from '../parts/page.tsx'
import { List } from '../parts/table.tsx'
import { linkTo, usePlace } from '../place.ts'
import { useScope } from '../scope.tsx'
import { client } from '../session.ts'

type Kind =
  | 'account'
  | 'key'
  | 'project'
  | 'store'
  | 'item'
  | 'import'
  | 'purchase'
  | 'webhook'
  | ''

/** What each action did, and the kind of its subject. */
const SENTENCES: { readonly [A in AuditAction]: readonly [verb: string, kind: Kind] } = {
  'account.create': ['created the account', ''],
  'account_key.add': ['added the key', 'key'],
  'account_key.update': ['changed the key', 'key'],
  'account_key.revoke': ['revoked the key', 'key'],
  'project.create': ['created the project', 'project'],
  'project.update': ['changed the project', 'project'],
  'project.rotate_key': ['changed the public key of', 'project'],
  'store.create': ['created the store', 'store'],
  'store.update': ['changed the store', 'store'],
  'item.create': ['created', 'item'],
  'item.update': ['changed', 'item'],
  'item.archive': ['archived', 'item'],
  'item.restore': ['restored', 'item'],
  'purchases.import': ['imported', 'import'],
  'purchases.record': ['recorded the purchase', 'purchase'],
  'purchases.refund': ['refunded', 'purchase'],
  'purchases.deliver': ['delivered', 'purchase'],
  'purchases.reconcile': ['cancelled what a file lacks:', 'import'],
  'imports.undo': ['undid the import of', 'import'],
  'tokens.issue': ['issued a token', ''],
  'tokens.revoke': ['revoked the tokens of', 'account'],
  'signing_keys.rotate': ['rotated the signing keys', ''],
  'secrets.seal': ['encrypted the secrets', ''],
  'secrets.drop': ['removed the secrets', ''],
  'audit.archive': ['archived the activity before', 'account'],
  'catalog.apply': ['applied a catalog to', 'project'],
  'users.export': ['exported the player', 'account'],
  'users.erase': ['erased the player', 'account'],
  'webhooks.test': ['sent a test to', 'webhook'],
  'webhooks.replay': ['replayed events to', 'webhook'],
  'webhooks.resend': ['resent a message to', 'webhook'],
  'webhooks.pause': ['paused', 'webhook'],
  'webhooks.resume': ['resumed', 'webhook'],
  'webhooks.update': ['selected the events of', 'webhook'],
  'webhooks.confirm': ['confirmed the URL of', 'webhook'],
}

const FILTERS = [
  { label: 'About (id)', name: 'subject', kind: 'search' },
  { label: 'Day (UTC)', name: 'day', kind: 'date' },
] as const

/** An entry with the item that it is about. */
type Entry = AuditEntry & { readonly item?: Item | undefined }

async function listEntries(
  query: RecentAuditQuery,
  options: { signal: AbortSignal },
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
  const { value: keys } = useLoad(async (signal) => {
    const { keys } = await client.keys.list({ limit: 1000 }, { signal })
    return new Map(keys.map(({ key_id, name }) => [key_id, name || 'Unnamed key']))
  }, [])
  const byId = (id: string, name: string | undefined, page: string) => (
    <Text isName text={name ?? id} href={linkTo(page, id)} />
  )
  const kinds: { readonly [K in Kind]: (entry: Entry) => ComponentChildren } = {
    '': () => '',
    account: (entry) => <Text text={entry.subject} />,
    key: ({ subject }) => byId('', keys?.get(subject) ?? subject, 'keys'),
    project: ({ subject }) =>
      byId(subject, projects.find(({ id }) => id === subject)?.name, 'projects'),
    store: ({ subject }) => byId(subject, subject, 'stores'),
    item: ({ subject, item }) => byId(subject, item?.display_name, 'items'),
    import: ({ subject: import_id, store_id, data }) => (
      <Text
        text={`${formatCount(Number(data?.added ?? 0), 'purchase')} into ${store_id}`}
        href={linkTo('purchases', '', { project: undefined, store: store_id, import_id })}
      />
    ),
    purchase: ({ subject, store_id: store }) => {
      const id = subject.slice(store.length + 1)
      return <Text text={id} href={linkTo('purchases', id, { project: undefined, store })} />
    },
    webhook: ({ subject }) => byId(subject, 'a webhook', 'webhooks'),
  }
  return (entry: Entry) => {
    const { action, actor, data, item } = entry
    const [verb, kind] = SENTENCES[action] ?? [action, 'account']
    const who = actor.startsWith('token:')
      ? 'A session'
      : actor === 'operator'
        ? 'The operator'
        : ''
    const change = action.startsWith('item.') ? data?.price : undefined // not that of a purchase
    const price = change as { readonly old: number; readonly new: number } | undefined
    const store = item && stores.find(({ store_id }) => store_id === item.store_id)
    const money = (minor: number) => formatMoney(minor, store ? currencyOf(store) : '')
    const fields = Array.isArray(data?.changed) ? data.changed.join(', ').replaceAll('_', ' ') : ''
    return (
      <p class="sentence">
        <strong>{who || (keys?.get(actor.replace('key:', '')) ?? actor)}</strong> {verb}{' '}
        {fields && `the ${fields} of `}
        {kinds[kind](entry)}
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
        empty={
          subject || day
            ? ['Nothing matches', 'Type the whole id of a record, or choose another day.']
            : ['Nothing has happened yet', 'Each change of the account appears here.']
        }
      />
    </Page>
  )
}

function textOf({ item: _, account_id: __, ...entry }: Entry): string {
  return JSON.stringify(entry, null, 2)
}
