import { type ComponentChildren, createContext } from 'preact'
import { useContext } from 'preact/hooks'
import { type ManageClient, type Project, type Store, TillError } from '../client/manage.ts'
import { type Loaded, useLoad } from './data.ts'
import { Await, Empty } from './parts/notice.tsx'
import { Page } from './parts/page.tsx'
import { currentPlace, goTo, linkTo, usePlace } from './place.ts'
import { useClient } from './session.ts'

/** The most projects, and stores of a project, in the lists to choose from. */
const LISTED = 1000

/** The projects, the stores of one, and the records that the URL names, or the first ones. */
interface Scope {
  readonly key: string
  readonly projects: readonly Project[]
  readonly stores: readonly Store[]
  readonly project: Project | undefined
  readonly store: Store | undefined
  /** The kind of record that the URL names and the account does not have. */
  readonly missing: 'project' | 'store' | undefined
}

interface LoadedScope extends Loaded<Scope> {
  /** Whether `value` is that of an earlier place, because that of the URL still loads. */
  readonly isEarlier: boolean
}

const ScopeContext = createContext<LoadedScope | undefined>(undefined)

export function useScope(): LoadedScope {
  return useContext(ScopeContext) as LoadedScope
}

export function ScopeProvider({ children }: { readonly children: ComponentChildren }) {
  const client = useClient()
  const { project, store } = usePlace().query
  const key = JSON.stringify([project, store])
  const loaded = useLoad((signal) => loadScope(client, key, { signal }), [key])
  const scope = { ...loaded, isEarlier: loaded.value?.key !== key }
  return <ScopeContext.Provider value={scope}>{children}</ScopeContext.Provider>
}

async function loadScope(client: ManageClient, key: string, options: { signal: AbortSignal }) {
  const [project_id, store_id]: (string | null)[] = JSON.parse(key)
  const [{ projects }, named] = await Promise.all([
    client.projects.list({ limit: LISTED }, options),
    store_id ? orNull(client.stores.get(store_id, options)) : undefined,
  ])
  // A store determines its project, even if the URL names another one.
  const id = named?.project_id ?? project_id ?? projects[0]?.id
  const listed = projects.find((each) => each.id === id)
  const project = listed ?? (id ? await orNull(client.projects.get(id, options)) : undefined)
  const { stores } = project
    ? await client.stores.list({ project_id: project.id, limit: LISTED }, options)
    : { stores: [] }
  const missing = project === null ? 'project' : named === null ? 'store' : undefined
  const first = stores.find(({ is_sandbox }) => !is_sandbox) ?? stores[0]
  const store = missing ? undefined : (named ?? first)
  return { key, projects, stores, project: project ?? undefined, store, missing } as const
}

async function orNull<T>(answer: Promise<T>): Promise<T | null> {
  try {
    return await answer
  } catch (error) {
    if (error instanceof TillError && error.status === 404) return null
    throw error
  }
}

/** The choice of the project and the store that the pages show. */
export function ScopeChoice() {
  const { projects = [], stores = [], project, store } = useScope().value ?? {}
  const choose = (choice: { readonly project?: string; readonly store?: string | undefined }) =>
    goTo(linkTo(currentPlace().page, '', choice))
  if (projects.length === 0) return null
  return (
    <div class="scope">
      <Choice
        label="Project"
        shown={project && [project.id, project.name]}
        options={projects.map(({ id, name }) => [id, name])}
        onChoose={(id) => choose({ project: id, store: undefined })}
      />
      {project && stores.length > 0 && (
        <Choice
          label="Store"
          shown={store && optionOf(store)}
          options={stores.map(optionOf)}
          onChoose={(store_id) => choose({ project: project.id, store: store_id })}
        />
      )}
    </div>
  )
}

function optionOf({ store_id, is_sandbox }: Store): Option {
  return [store_id, store_id, is_sandbox ? 'Sandboxes' : '']
}

type Option = readonly [id: string, name: string, group?: string]

interface ChoiceProps {
  readonly label: string
  /** The chosen one, which a long list of options may not have. */
  readonly shown: Option | undefined
  readonly options: readonly Option[]
  readonly onChoose: (id: string) => void
}

function Choice({ label, shown = ['', '–'], options, onChoose }: ChoiceProps) {
  const all = new Map([...options, shown].map((option) => [option[0], option]))
  const groups = Map.groupBy(all.values(), ([, , group = '']) => group)
  const choose = ({ currentTarget }: { readonly currentTarget: HTMLSelectElement }) => {
    const { value } = currentTarget
    currentTarget.value = shown[0] // until the page is left
    onChoose(value)
  }
  return (
    <label>
      <span class="hint">{label}</span>
      <select value={shown[0]} onChange={choose}>
        {[...groups].map(([group, options]) => {
          const shown = options.map(([id, name]) => (
            <option key={id} value={id}>
              {name}
            </option>
          ))
          return group ? (
            <optgroup key={group} label={group}>
              {shown}
            </optgroup>
          ) : (
            shown
          )
        })}
      </select>
    </label>
  )
}

interface WithStoreProps {
  /** The title of the page while there is no store, if the children have their own titles. */
  readonly title?: string
  readonly children: (store: Store) => ComponentChildren
}

/** Shows its children for the chosen store. Without one, says how to create it. */
export function WithStore({ title, children }: WithStoreProps) {
  const scope = useScope()
  const loaded = scope.isEarlier ? { ...scope, value: undefined } : scope
  const { store } = loaded.value ?? {}
  if (store) return <>{children(store)}</>
  const shown = <Await loaded={loaded}>{(scope) => <NoStore scope={scope} />}</Await>
  return title ? <Page title={title}>{shown}</Page> : shown
}

function NoStore({ scope: { missing, project } }: { readonly scope: Scope }) {
  if (missing) {
    return (
      <Empty title={`There is no such ${missing}`}>
        <p>
          The address names a {missing} that this account does not have. Choose another one above.
        </p>
      </Empty>
    )
  }
  const next = project ? 'store' : 'project'
  return (
    <Empty title={`There is no ${next} yet`}>
      <p>Items and purchases belong to a store, and a store belongs to a project.</p>
      <a class="button primary" href={linkTo('projects', project?.id)}>
        Create a {next}
      </a>
    </Empty>
  )
}

/** The currency of prices without one; '' if the store has none. */
export function currencyOf({ store_config: { currency } }: Store): string {
  return typeof currency === 'string' ? currency : ''
}
