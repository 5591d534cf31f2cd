import { useState } from 'preact/hooks'
import { useAction, useCreation } from '../data.ts'
import { Dialog } from '../parts/dialog.tsx'
import { SelectField, TextField } from '../parts/fields.tsx'
import { Form } from '../parts/form.tsx'
import { Await, Empty } from '../parts/notice.tsx'
import { Page } from '../parts/page.tsx'
import { StatusBadge } from '../parts/status.tsx'
import { Table } from '../parts/table.tsx'
import { goTo, linkTo, usePlace } from '../place.ts'
import { useScope } from '../scope.tsx'
import { useClient } from '../session.ts'
import { PLATFORMS, ProjectPage } from './project.tsx'

export function Projects() {
  const { id } = usePlace()
  return id ? <ProjectPage id={id} /> : <List />
}

function List() {
  const { projects } = useScope()
  const [isCreating, setCreating] = useState(false)
  const create = () => setCreating(true)
  return (
    <Page
      title="Projects and stores"
      lead="A project is a game or an application. Its stores sell items."
      actions={
        <button type="button" class="primary" onClick={create}>
          New project
        </button>
      }
    >
      {isCreating && <NewProject onClose={() => setCreating(false)} />}
      <Await loaded={projects}>
        {(rows) =>
          rows.length === 0 ? (
            <Empty title="There is no project yet">
              <p>Create one for your game. Then add a store to it.</p>
              <button type="button" class="primary" onClick={create}>
                Create the first project
              </button>
            </Empty>
          ) : (
            <Table
              label="Projects"
              rows={rows}
              keyOf={({ id }) => id}
              columns={[
                {
                  label: 'Project',
                  cell: ({ id, name }) => (
                    <a href={linkTo('projects', id, { project: id, store: undefined })}>{name}</a>
                  ),
                },
                { label: 'Bundle', cell: ({ bundle_id }) => <code>{bundle_id}</code> },
                { label: 'Platform', cell: ({ platform }) => platform },
                { label: 'Status', cell: ({ status }) => <StatusBadge status={status} /> },
              ]}
            />
          )
        }
      </Await>
    </Page>
  )
}

function NewProject({ onClose }: { readonly onClose: () => void }) {
  const client = useClient()
  const { projects } = useScope()
  const [draft, setDraft] = useState({ name: '', bundle_id: '', platform: 'mobile' })
  const field = (name: keyof typeof draft) => ({
    ...{ name, value: draft[name] },
    onChange: (value: string) => setDraft({ ...draft, [name]: value }),
  })
  const creation = useCreation()
  const action = useAction(async () => {
    const { id } = await client.projects.create(draft, creation(draft))
    projects.reload()
    goTo(linkTo('projects', id, { project: id, store: undefined }))
  })
  return (
    <Dialog title="New project" onClose={onClose}>
      <Form
        {...{ action, names: Object.keys(draft), label: 'New project', submit: 'Create' }}
        onCancel={onClose}
      >
        <TextField label="Name" {...field('name')} />
        <TextField
          label="Bundle id"
          hint="Like com.example.game. It never changes."
          {...field('bundle_id')}
        />
        <SelectField
          label="Platform"
          options={PLATFORMS.map((platform) => [platform, platform])}
          {...field('platform')}
        />
      </Form>
    </Dialog>
  )
}
