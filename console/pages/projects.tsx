import type { NewProject } from '../../client/manage.ts'
import { newProjectFields, parseNewProject } from '../../lib/domain/project.ts'
import { FormButton } from '../parts/form.tsx'
import { Await, Empty } from '../parts/notice.tsx'
import { Page } from '../parts/page.tsx'
import { fieldsOf } from '../parts/rules.ts'
import { Table } from '../parts/table.tsx'
import { goTo, linkTo, usePlace } from '../place.ts'
import { useScope } from '../scope.tsx'
import { useClient } from '../session.ts'
import { ProjectPage } from './project.tsx'

export function Projects() {
  const { id } = usePlace()
  return id ? <ProjectPage id={id} /> : <ProjectList />
}

function ProjectList() {
  const scope = useScope()
  return (
    <Page
      title="Projects and stores"
      lead="A project is a game or an application. Its stores sell items."
      actions={<NewProjectButton label="New project" />}
    >
      <Await loaded={scope}>
        {({ projects }) =>
          projects.length === 0 ? (
            <Empty title="There is no project yet">
              <p>Create one for your game. Then add a store to it.</p>
              <NewProjectButton label="Create the first project" />
            </Empty>
          ) : (
            <Table
              label="Projects"
              rows={projects}
              keyOf={({ id }) => id}
              columns={[
                ['Project', ({ id, name }) => <a href={linkToProject(id)}>{name}</a>],
                ['Bundle', ({ bundle_id }) => <code>{bundle_id}</code>],
                'platform',
                ['status', 'end'],
              ]}
            />
          )
        }
      </Await>
    </Page>
  )
}

function linkToProject(id: string): string {
  return linkTo('projects', id, { project: id, store: undefined })
}

const FIELDS = fieldsOf(newProjectFields, {
  ...{ account_id: false, status: false, dlscheme: false, config: false },
  bundle_id: { hint: 'Like com.example.game. It never changes.', width: 40 },
  platform: { hint: '' },
})

function NewProjectButton({ label }: { readonly label: string }) {
  const client = useClient()
  const scope = useScope()
  return (
    <FormButton
      {...{ label, title: 'New project', submit: 'Create', isPrimary: true, fields: FIELDS }}
      values={{ platform: 'mobile' }}
      check={(input) => parseNewProject({ account_id: 'own', ...input })}
      send={async (input, creation) => {
        const { id } = await client.projects.create(input as NewProject, creation)
        scope.reload()
        goTo(linkToProject(id))
      }}
    />
  )
}
