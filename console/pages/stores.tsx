import { useState } from 'preact/hooks'
import { useAction, useCreation, usePages } from '../data.ts'
import { Dialog } from '../parts/dialog.tsx'
import { CheckField, SelectField, TextField } from '../parts/fields.tsx'
import { Form } from '../parts/form.tsx'
import { Empty } from '../parts/notice.tsx'
import { Badge, Section } from '../parts/page.tsx'
import { StatusBadge } from '../parts/status.tsx'
import { Pages } from '../parts/table.tsx'
import { goTo, linkTo } from '../place.ts'
import { useScope } from '../scope.tsx'
import { useClient } from '../session.ts'

interface StoresProps {
  readonly project_id: string
}

/** The stores of a project. */
export function Stores({ project_id }: StoresProps) {
  const client = useClient()
  const [isCreating, setCreating] = useState(false)
  const paged = usePages(
    async (page, signal) => {
      const { stores, next } = await client.stores.list({ project_id, ...page }, { signal })
      return { rows: stores, next }
    },
    [project_id],
  )
  const link = (store: string) => linkTo('stores', store, { project: project_id, store })
  return (
    <Section title="Stores">
      {isCreating && <NewStore {...{ project_id }} onClose={() => setCreating(false)} />}
      <Pages
        label="Stores"
        paged={paged}
        keyOf={({ store_id }) => store_id}
        columns={[
          { label: 'Store', cell: ({ store_id: id }) => <a href={link(id)}>{id}</a> },
          { label: 'Type', cell: ({ store_type }) => store_type },
          {
            label: 'Kind',
            cell: ({ is_sandbox }) =>
              is_sandbox ? <Badge tone="warning" text="sandbox" /> : <Badge text="live" />,
          },
          { label: 'Status', cell: ({ status }) => <StatusBadge status={status} /> },
        ]}
        empty={
          <Empty title="The project has no store yet">
            <p>A store sells items and takes purchases.</p>
          </Empty>
        }
      />
      <div class="actions">
        <button type="button" onClick={() => setCreating(true)}>
          New store
        </button>
      </div>
    </Section>
  )
}

const TYPES = ['web', 'iap', 'custom'] as const
const NAMES = ['store_id', 'store_type', 'store_config.currency']

interface NewStoreProps extends StoresProps {
  readonly onClose: () => void
}

function NewStore({ project_id, onClose }: NewStoreProps) {
  const client = useClient()
  const { stores } = useScope()
  const [store_id, setId] = useState('')
  const [store_type, setType] = useState<string>('web')
  const [currency, setCurrency] = useState('')
  const [is_sandbox, setSandbox] = useState(false)
  const creation = useCreation()
  const action = useAction(async () => {
    const input = {
      ...{ project_id, is_sandbox, store_type: store_type as (typeof TYPES)[number] },
      ...(store_id && { store_id }),
      store_config: {
        ...(currency && { currency }),
        ...(store_type === 'iap' && { platform: 'google_play' }),
      },
    }
    const created = await client.stores.create(input, creation(input))
    stores.reload()
    const store = created.store_id
    goTo(linkTo('stores', store, { project: project_id, store }))
  })
  return (
    <Dialog title="New store" onClose={onClose}>
      <Form {...{ action, names: NAMES, label: 'New store', submit: 'Create', onCancel: onClose }}>
        <TextField
          {...{ label: 'Store id', name: 'store_id', value: store_id, onChange: setId }}
          hint="Letters, digits, _ and -. Empty for a new id. It never changes."
        />
        <SelectField
          {...{ label: 'Type', name: 'store_type', value: store_type, onChange: setType }}
          options={TYPES.map((type) => [type, type])}
          hint="It never changes."
        />
        <TextField
          {...{ label: 'Currency', name: 'store_config.currency', value: currency }}
          onChange={(typed) => setCurrency(typed.toUpperCase())}
          hint="Such as USD: the currency of prices that name none."
        />
        <CheckField
          label="Sandbox"
          hint="For test purchases"
          isChecked={is_sandbox}
          onChange={setSandbox}
        />
      </Form>
    </Dialog>
  )
}
