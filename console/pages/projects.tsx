import type { NewProject } from '../../client/manage.ts'
import { newProjectFields, parseNewProject } from '../../lib/domain/project.ts'
import { FormButton } from '../parts/form.tsx'
import { Page, Text } from '../parts/page.tsx'
import { fieldsOf } from '../parts/rules.ts'
import { List } from '../parts/table.tsx'
import { goTo, linkTo } from '../place.ts'
import { client } from '../session.ts'

const FIELDS = fieldsOf(newProjectFields, {
  account_id: false,
  status: false,
  dlscheme: false,
  config: false,
  bundle_id: { hint: 'Like com.example.game. It never changes.', width: 40 },
  platform: { hint: '' },
})

export function Projects() {
  const link = (id: string) => linkTo('projects', id, { project: id, store: undefined })
  return (
    <Page
      title="Projects and stores"
      lead="A project is a game or an application. Its stores sell items."
      actions={
        <FormButton
          label="New project"
          submit="Create"
          isPrimary
          fields={FIELDS}
          values={{ platform: 'mobile' }}
          check={(input) => parseNewProject({ account_id: 'own', ...input })}
          send={async (input, creation) => {
            const { id } = await client.projects.create(input as NewProject, creation)
            goTo(link(id))
          }}
        />
      }
    >
      <List
        label="Projects"
        list={client.projects.list}
        query={{}}
        columns={[
          ['Project', ({ id, name }) => <Text isName text={name} href={link(id)} />],
          ['status', 'end'],
          'bundle_id',
          ['platform', 'hidden'],
        ]}
        empty={['There is no project yet', 'Create one for your game. Then add a store to it.']}
      />
    </Page>
  )
}
