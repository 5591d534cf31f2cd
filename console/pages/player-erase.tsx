import { useState } from 'preact/hooks'
import type { ErasedUser } from '../../client/manage.ts'
import { useAction } from '../data.ts'
import { formatCount } from '../format.ts'
import { Dialog } from '../parts/dialog.tsx'
import { CheckField, TextField } from '../parts/fields.tsx'
import { Form } from '../parts/form.tsx'
import { Notice } from '../parts/notice.tsx'
import { useScope } from '../scope.tsx'
import { useClient } from '../session.ts'

interface EraseProps {
  readonly project_id: string
  readonly user_id: string
  readonly onClose: () => void
}

/** Erases a player after the user id was typed again. */
export function ErasePlayer({ project_id, user_id, onClose }: EraseProps) {
  const client = useClient()
  const { project } = useScope()
  const [typed, setTyped] = useState('')
  const [deletes, setDeletes] = useState(false)
  const [mistake, setMistake] = useState<string>()
  const [erased, setErased] = useState<ErasedUser>()
  const action = useAction(async () => {
    setErased(await client.users.erase({ project_id, user_id }, { delete: deletes }))
  })
  const submit = () => {
    const isSame = typed === user_id
    setMistake(isSame ? undefined : `must be ${user_id}`)
    if (isSame) action.run()
  }
  if (erased) {
    return (
      <Dialog title="Erased" onClose={onClose}>
        <Notice tone="good" title={`Erased ${formatCount(erased.purchases)} purchases`}>
          <p>
            Where the id was, there is now the pseudonym <code>{erased.pseudonym}</code>.
          </p>
        </Notice>
        <div class="actions">
          <button type="button" class="primary" onClick={onClose}>
            Close
          </button>
        </div>
      </Dialog>
    )
  }
  return (
    <Dialog title={`Erase ${user_id}?`} onClose={onClose}>
      <p>
        In all stores of <strong>{project?.name}</strong>, the purchases lose the user id, and a
        pseudonym replaces it in the activity. The amounts stay for your accounting. This can not be
        undone.
      </p>
      <Form
        {...{ action, names: [], label: 'Erase player', submit: 'Erase', onSubmit: submit }}
        isDangerous
        onCancel={onClose}
      >
        <CheckField
          label="Also delete the purchases"
          hint="The revenue of the past gets smaller. The same transactions can not be imported again."
          isChecked={deletes}
          onChange={setDeletes}
        />
        <TextField
          label="User id"
          name="user_id"
          value={typed}
          onChange={setTyped}
          mistake={mistake}
          hint={`Type ${user_id} to confirm`}
        />
      </Form>
    </Dialog>
  )
}
