import { FormButton } from '../parts/form.tsx'
import { Await, Empty } from '../parts/notice.tsx'
import { Badge, Page } from '../parts/page.tsx'
import { Table } from '../parts/table.tsx'
import { goTo, linkTo, usePlace } from '../place.ts'
import { useScope } from '../scope.tsx'
import { useClient } from '../session.ts'
import { PLATFORMS, ProjectPage } from './project.tsx'

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
                {
                  label: 'Project',
                  cell: ({ id, name }) => <a href={linkToProject(id)}>{name}</a>,
                },
                { label: 'Bundle', cell: ({ bundle_id }) => <code>{bundle_id}</code> },
                { label: 'Platform', cell: ({ platform }) => platform },
                { label: 'Status', cell: ({ status }) => <Badge text={status} /> },
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

const FIELDS = [
  { label: 'Name', name: 'name' },
  { label: 'Bundle id', name: 'bundle_id', hint: 'Like com.example.game. It never changes.' },
  { label: 'Platform', name: 'platform', options: PLATFORMS },
]

function NewProjectButton({ label }: { readonly label: string }) {
  const client = useClient()
  const scope = useScope()
  return (
    <FormButton
      {...{ label, title: 'New project', submit: 'Create', isPrimary: true, fields: FIELDS }}
      values={{ platform: 'mobile' }}
      send={async ({ name, bundle_id, platform }, creation) => {
        const { id } = await client.projects.create({ name, bundle_id, platform }, creation)
        scope.reload()
        goTo(linkToProject(id))
      }}
    />
  )
}
