import { useState } from 'preact/hooks'
import type { JsonObject, Project } from '../../client/manage.ts'
import { useAction, useLoad } from '../data.ts'
import { ConfigFields, changesOf, configDraft, parseConfig } from '../parts/config.tsx'
import { Copyable } from '../parts/copy.tsx'
import { Confirm } from '../parts/dialog.tsx'
import { SelectField, TextField } from '../parts/fields.tsx'
import { Form } from '../parts/form.tsx'
import { Await, Notice } from '../parts/notice.tsx'
import { Facts, Page, Section, Time } from '../parts/page.tsx'
import { StatusBadge } from '../parts/status.tsx'
import { linkTo } from '../place.ts'
import { useScope } from '../scope.tsx'
import { useClient } from '../session.ts'
import { Stores } from './stores.tsx'

export const PLATFORMS = ['mobile', 'web', 'desktop', 'ios', 'android'] as const

export function ProjectPage({ id }: { readonly id: string }) {
  const client = useClient()
  const { projects } = useScope()
  const loaded = useLoad((signal) => client.projects.get(id, { signal }), [id])
  const [isRotating, setRotating] = useState(false)
  const reload = () => {
    loaded.reload()
    projects.reload()
  }
  return (
    <Page
      title={loaded.value?.name ?? 'Project'}
      lead={<a href={linkTo('projects')}>All projects</a>}
      actions={
        <button type="button" class="danger" onClick={() => setRotating(true)}>
          Change the public key
        </button>
      }
    >
      {isRotating && (
        <Confirm
          title="Change the public key?"
          verb="Change the key"
          isDangerous
          onConfirm={async () => {
            await client.projects.rotateKey(id)
            reload()
          }}
          onClose={() => setRotating(false)}
        >
          <p>
            The project gets a new public key. Clients with the former key open no more sessions
            after one day. Put the new key into your clients before that.
          </p>
        </Confirm>
      )}
      <Await loaded={loaded}>
        {(project) => (
          <>
            <Section title="Project">
              <Facts
                facts={[
                  ['Id', <code key="id">{project.id}</code>],
                  ['Bundle', <code key="bundle">{project.bundle_id}</code>],
                  ['Status', <StatusBadge key="status" status={project.status} />],
                  ['Created', <Time key="at" at={project.created_at} />],
                ]}
              />
              <Copyable label="Public key" text={project.public_key} />
            </Section>
            <Stores project_id={project.id} />
            <Edit key={project.id} {...{ project }} onSaved={reload} />
          </>
        )}
      </Await>
    </Page>
  )
}

interface EditProps {
  readonly project: Project
  readonly onSaved: () => void
}

const NAMES = ['name', 'platform', 'status', 'config', 'config.webhook_secret']

function Edit({ project, onSaved }: EditProps) {
  const client = useClient()
  /** What the changes are based on. */
  const [base, setBase] = useState(project)
  const [name, setName] = useState(project.name)
  const [platform, setPlatform] = useState(project.platform)
  const [status, setStatus] = useState(project.status)
  const [config, setConfig] = useState(() => configDraft(project.config, project.secrets))
  const [mistake, setMistake] = useState<string>()
  const [saves, setSaves] = useState(0)
  const action = useAction(async () => {
    const parsed = parseConfig(config)
    setMistake(parsed ? undefined : 'must be a JSON object')
    if (!parsed) return false
    const changes = changesOf(base, { name, platform, status, config: parsed as JsonObject })
    const saved = await client.projects.update({ id: project.id, ...changes })
    setBase(saved)
    setName(saved.name)
    setPlatform(saved.platform)
    setStatus(saved.status)
    setConfig(configDraft(saved.config, saved.secrets))
    setSaves(saves + 1)
    onSaved()
    return true
  })
  return (
    <Section title="Edit">
      <Form {...{ action, names: NAMES, label: 'Edit project' }}>
        <TextField label="Name" name="name" value={name} onChange={setName} />
        <SelectField
          {...{ label: 'Platform', name: 'platform', value: platform, onChange: setPlatform }}
          options={[...new Set([...PLATFORMS, project.platform])].map((each) => [each, each])}
        />
        <TextField
          {...{ label: 'Status', name: 'status', value: status, onChange: setStatus }}
          hint="active; a disabled or archived project opens no sessions."
        />
        <ConfigFields
          key={saves}
          {...{ name: 'config', draft: config, onChange: setConfig, mistake }}
          secretNames={['webhook_secret']}
        />
        {saves > 0 && !action.isRunning && action.error === undefined && (
          <Notice tone="good" title="Saved" />
        )}
      </Form>
    </Section>
  )
}
