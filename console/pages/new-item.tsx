import { useState } from 'preact/hooks'
import type { Store } from '../../client/manage.ts'
import { useAction, useCreation } from '../data.ts'
import { Dialog } from '../parts/dialog.tsx'
import { SelectField, TextField } from '../parts/fields.tsx'
import { Form } from '../parts/form.tsx'
import { goTo, linkTo } from '../place.ts'
import { currencyOf } from '../scope.tsx'
import { useClient } from '../session.ts'
import { DRAFT_FIELDS, EMPTY_DRAFT, ItemFields, type Mistakes, parseDraft } from './item-fields.tsx'

const TYPES = ['consumable', 'non_consumable', 'subscription'] as const
type ItemType = (typeof TYPES)[number]

const NAMES = ['name', 'type', ...DRAFT_FIELDS]

interface NewItemProps {
  readonly store: Store
  readonly onClose: () => void
}

export function NewItem({ store, onClose }: NewItemProps) {
  const client = useClient()
  const currency = currencyOf(store)
  const [name, setName] = useState('')
  const [type, setType] = useState<ItemType>('consumable')
  const [draft, setDraft] = useState(EMPTY_DRAFT)
  const [mistakes, setMistakes] = useState<Mistakes>({})
  const creation = useCreation()
  const action = useAction(async () => {
    const { fields, mistakes } = parseDraft(draft, currency)
    setMistakes(mistakes)
    if (Object.keys(mistakes).length > 0) return false
    const { store_id } = store
    const item = { store_id, name, type, ...fields }
    const { id } = await client.items.create(item, creation(item))
    goTo(linkTo('items', id))
    return true
  })
  return (
    <Dialog title="New item" onClose={onClose}>
      <Form {...{ action, names: NAMES, label: 'New item', submit: 'Create', onCancel: onClose }}>
        <TextField
          label="SKU"
          name="name"
          value={name}
          onChange={setName}
          hint="Letters, digits and underscores. It never changes."
        />
        <SelectField
          label="Type"
          name="type"
          hint="It never changes."
          value={type}
          onChange={(value) => setType(value as ItemType)}
          options={TYPES.map((type) => [type, type.replace('_', '-')])}
        />
        <ItemFields {...{ draft, currency, mistakes }} onChange={setDraft} />
      </Form>
    </Dialog>
  )
}
