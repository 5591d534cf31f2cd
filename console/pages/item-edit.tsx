import { useState } from 'preact/hooks'
import { type Item, type Store, TillError } from '../../client/manage.ts'
import { useAction } from '../data.ts'
import { Form } from '../parts/form.tsx'
import { Notice } from '../parts/notice.tsx'
import { Section } from '../parts/page.tsx'
import { currencyOf } from '../scope.tsx'
import { useClient } from '../session.ts'
import {
  DRAFT_FIELDS,
  draftOf,
  type ItemDraft,
  ItemFields,
  type Mistakes,
  parseDraft,
} from './item-fields.tsx'

interface EditProps {
  readonly store: Store
  readonly item: Item
  readonly onSaved: () => void
}

export function EditItem({ store, item, onSaved }: EditProps) {
  const client = useClient()
  const currency = currencyOf(store)
  /** The version that the changes are based on. */
  const [base, setBase] = useState(item)
  const [draft, setDraft] = useState(() => draftOf(item, currency))
  const [mistakes, setMistakes] = useState<Mistakes>({})
  const [isSaved, setSaved] = useState(false)
  const [newest, setNewest] = useState<Item>()
  const action = useAction(async () => {
    setSaved(false)
    const { fields, mistakes } = parseDraft(draft, currency)
    setMistakes(mistakes)
    if (Object.keys(mistakes).length > 0) return false
    const save = (version: number) => client.items.update({ id: item.id, ...fields, version })
    try {
      finish(await save(base.version))
    } catch (error) {
      if (!(error instanceof TillError) || error.code !== 'version_conflict') throw error
      const newest = await client.items.get(item.id)
      // Archiving also makes a new version.
      if (theirChanges(base, newest, currency).length > 0) {
        setNewest(newest)
        return false
      }
      finish(await save(newest.version))
    }
    return true
  })
  const finish = (saved: Item) => {
    setBase(saved)
    setSaved(true)
    onSaved()
  }
  const change = (draft: ItemDraft) => {
    setSaved(false)
    setDraft(draft)
  }
  return (
    <Section title="Edit">
      <Form {...{ action, names: DRAFT_FIELDS, label: 'Edit item', submit: 'Save' }}>
        {newest && (
          <Conflict
            {...{ base, newest, draft, currency }}
            onResolve={(draft) => {
              setBase(newest)
              setDraft(draft)
              setNewest(undefined)
            }}
          />
        )}
        <ItemFields {...{ draft, currency, mistakes }} onChange={change} />
        {isSaved && <Notice tone="good" title={`Saved as version ${base.version}`} />}
      </Form>
    </Section>
  )
}

interface ConflictProps {
  readonly base: Item
  readonly newest: Item
  readonly draft: ItemDraft
  readonly currency: string
  readonly onResolve: (draft: ItemDraft) => void
}

/** Shows what somebody else changed meanwhile. Nothing that was typed is lost. */
function Conflict({ base, newest, draft, currency, onResolve }: ConflictProps) {
  const [before, now] = [draftOf(base, currency), draftOf(newest, currency)]
  const theirs = theirChanges(base, newest, currency)
  const mine = DRAFT_FIELDS.filter((field) => before[field] !== draft[field])
  const merged = { ...now, ...Object.fromEntries(mine.map((field) => [field, draft[field]])) }
  return (
    <Notice tone="warning" title="Somebody else changed this item meanwhile">
      <p>Nothing was saved. Their changes:</p>
      <ul>
        {theirs.map((field) => (
          <li key={field}>
            {field}: <s>{before[field]}</s> → <b>{now[field]}</b>
          </li>
        ))}
      </ul>
      <div class="actions">
        <button type="button" class="primary" onClick={() => onResolve(merged as ItemDraft)}>
          Take their changes, keep mine
        </button>
        <button type="button" onClick={() => onResolve(now)}>
          Discard my changes
        </button>
      </div>
    </Notice>
  )
}

function theirChanges(base: Item, newest: Item, currency: string) {
  const [before, now] = [draftOf(base, currency), draftOf(newest, currency)]
  return DRAFT_FIELDS.filter((field) => before[field] !== now[field])
}
