import { type ComponentChildren, createContext } from 'preact'
import { useContext } from 'preact/hooks'
import { type ManageClient, type Project, type Store, TillError } from '../client/manage.ts'
import { type Loaded, useLoad } from './data.ts'
import { Empty, Failure, Loading } from './parts/notice.tsx'
import { Page } from './parts/page.tsx'
import { currentPlace, goTo, linkTo, usePlace } from './place.ts'
import { useClient } from './session.ts'

/** The most projects, and stores of a project, in the lists to choose from. */
const LISTED = 1000

interface Scope {
  readonly projects: Loaded<readonly Project[]>
  readonly stores: Loaded<readonly Store[]>
  /** The project and store that the URL names, or the first ones where it names none. */
  readonly project: Project | undefined
  readonly store: Store | undefined
  readonly named: Loaded<Named>
  /** The kind of record that the URL names and the account does not have. */
  readonly missing: 'project' | 'store' | undefined
}

const ScopeContext = createContext<Scope | undefined>(undefined)

export function useScope(): Scope {
  return useContext(ScopeContext) as Scope
}

export function ScopeProvider({ children }: { readonly children: ComponentChildren }) {
  const client = useClient()
  const { query } = usePlace()
  const key = JSON.stringify([query.project, query.store])
  const loaded = useLoad((signal) => loadNamed(client, key, signal), [key])
  // While a later place loads, the value is that of the earlier place.
  const named = loaded.value?.key === key ? loaded.value : undefined
  const missing = missingIn(named)
  const projects = useLoad(
    async (signal) => (await client.projects.list({ limit: LISTED }, { signal })).projects,
    [],
  )
  const project = missing ? named?.project : (named?.project ?? (named && projects.value?.[0]))
  const project_id = project?.id
  const stores = useLoad(
    async (signal) => {
      if (project_id === undefined) return []
      return (await client.stores.list({ project_id, limit: LISTED }, { signal })).stores
    },
    [project_id],
  )
  const ofProject = stores.value?.filter((store) => store.project_id === project_id)
  const store_id = named?.store?.store_id
  const store = store_id
    ? (ofProject?.find((each) => each.store_id === store_id) ?? named?.store)
    : ofProject?.[0]
  const scope = {
    ...{ projects, stores, missing, named: { ...loaded, value: named } },
    ...{ project: project ?? undefined, store: missing ? undefined : (store ?? undefined) },
  }
  return <ScopeContext.Provider value={scope}>{children}</ScopeContext.Provider>
}

/** The records that the URL names: undefined where it names none, null where there is none. */
interface Named {
  readonly key: string
  readonly project: Project | null | undefined
  readonly store: Store | null | undefined
}

function missingIn(named: Named | undefined): Scope['missing'] {
  if (named?.project === null) return 'project'
  return named?.store === null ? 'store' : undefined
}

/** Loads the store, and its project even if the URL names another one. */
async function loadNamed(client: ManageClient, key: string, signal: AbortSignal): Promise<Named> {
  const [given, store_id]: (string | null)[] = JSON.parse(key)
  const store = store_id ? await orNull(client.stores.get(store_id, { signal })) : undefined
  const id = store?.project_id ?? given
  return { key, store, project: id ? await orNull(client.projects.get(id, { signal })) : undefined }
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
  const { projects, stores, project, store } = useScope()
  const choose = (choice: { readonly project?: string; readonly store?: string | undefined }) =>
    goTo(linkTo(currentPlace().page, '', choice))
  if (!projects.value?.length) return null
  return (
    <div class="scope">
      <Choice
        label="Project"
        shown={project && [project.id, project.name]}
        options={projects.value.map(({ id, name }) => [id, name])}
        onChoose={(id) => choose({ project: id, store: undefined })}
      />
      {project && stores.value && stores.value.length > 0 && (
        <Choice
          label="Store"
          shown={store && [store.store_id, nameOf(store)]}
          options={stores.value.map((store) => [store.store_id, nameOf(store)])}
          onChoose={(store_id) => choose({ project: project.id, store: store_id })}
        />
      )}
    </div>
  )
}

function nameOf({ store_id, is_sandbox }: Store): string {
  return is_sandbox ? `${store_id} (sandbox)` : store_id
}

type Option = readonly [id: string, name: string]

interface ChoiceProps {
  readonly label: string
  /** The chosen one, which a long list of options may not have. */
  readonly shown: Option | undefined
  readonly options: readonly Option[]
  readonly onChoose: (id: string) => void
}

function Choice({ label, shown = ['', '–'], options, onChoose }: ChoiceProps) {
  const all = new Map([...options, shown])
  const choose = ({ currentTarget }: { readonly currentTarget: HTMLSelectElement }) => {
    const { value } = currentTarget
    currentTarget.value = shown[0] // until the page is left
    onChoose(value)
  }
  return (
    <label>
      <span class="hint">{label}</span>
      <select value={shown[0]} onChange={choose}>
        {[...all].map(([id, name]) => (
          <option key={id} value={id}>
            {name}
          </option>
        ))}
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
  const { store } = useScope()
  if (store) return <>{children(store)}</>
  return title ? (
    <Page title={title}>
      <NoStore />
    </Page>
  ) : (
    <NoStore />
  )
}

function NoStore() {
  const { projects, stores, project, named, missing } = useScope()
  const failed = [named, projects, stores].find(({ error }) => error !== undefined)
  if (failed) return <Failure error={failed.error} onRetry={failed.reload} />
  if (!named.value || projects.isLoading || stores.isLoading) return <Loading />
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
