import { type ComponentChildren, createContext } from 'preact'
import { useContext } from 'preact/hooks'
import type { Project, Store } from '../client/manage.ts'
import { type Loaded, useLoad } from './data.ts'
import { Empty, Failure, Loading } from './parts/notice.tsx'
import { Page } from './parts/page.tsx'
import { currentPlace, goTo, linkTo, usePlace } from './place.ts'
import { useClient } from './session.ts'

/** The most projects, and stores of a project, that can be chosen. */
const LISTED = 1000

interface Scope {
  readonly projects: Loaded<readonly Project[]>
  readonly stores: Loaded<readonly Store[]>
  /** The chosen project and store, by default the first ones. */
  readonly project: Project | undefined
  readonly store: Store | undefined
}

const ScopeContext = createContext<Scope | undefined>(undefined)

export function useScope(): Scope {
  return useContext(ScopeContext) as Scope
}

export function ScopeProvider({ children }: { readonly children: ComponentChildren }) {
  const client = useClient()
  const { query } = usePlace()
  const projects = useLoad(
    async (signal) => (await client.projects.list({ limit: LISTED }, { signal })).projects,
    [],
  )
  const project = chosen(projects.value, ({ id }) => id === query.project)
  const project_id = project?.id
  const stores = useLoad(
    async (signal) => {
      if (project_id === undefined) return []
      return (await client.stores.list({ project_id, limit: LISTED }, { signal })).stores
    },
    [project_id],
  )
  const ofProject = stores.value?.filter((store) => store.project_id === project_id)
  const store = chosen(ofProject, ({ store_id }) => store_id === query.store)
  return (
    <ScopeContext.Provider value={{ projects, stores, project, store }}>
      {children}
    </ScopeContext.Provider>
  )
}

function chosen<T>(all: readonly T[] | undefined, isChosen: (each: T) => boolean): T | undefined {
  return all?.find(isChosen) ?? all?.[0]
}

/** The choice of the project and the store that the pages show. */
export function ScopeChoice() {
  const { projects, stores, project, store } = useScope()
  const choose = (choice: { readonly project?: string; readonly store?: string | undefined }) => {
    const { page } = currentPlace()
    goTo(linkTo(page, '', choice))
  }
  if (!project || !projects.value) return null
  return (
    <div class="scope">
      <label>
        <span>Project</span>
        <select
          value={project.id}
          onChange={({ currentTarget: { value } }) => choose({ project: value, store: undefined })}
        >
          {projects.value.map(({ id, name }) => (
            <option key={id} value={id}>
              {name}
            </option>
          ))}
        </select>
      </label>
      {store && stores.value && (
        <label>
          <span>Store</span>
          <select
            value={store.store_id}
            onChange={({ currentTarget: { value } }) =>
              choose({ project: project.id, store: value })
            }
          >
            {stores.value.map(({ store_id, is_sandbox }) => (
              <option key={store_id} value={store_id}>
                {store_id}
                {is_sandbox ? ' (sandbox)' : ''}
              </option>
            ))}
          </select>
        </label>
      )}
    </div>
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
  const { projects, stores, project } = useScope()
  const error = projects.error ?? stores.error
  if (error !== undefined) {
    const retry = projects.error === undefined ? stores.reload : projects.reload
    return <Failure error={error} onRetry={retry} />
  }
  if (projects.isLoading || stores.isLoading) return <Loading />
  const missing = project ? 'store' : 'project'
  return (
    <Empty title={`There is no ${missing} yet`}>
      <p>Items and purchases belong to a store, and a store belongs to a project.</p>
      <a class="button primary" href={linkTo('projects', project?.id)}>
        Create a {missing}
      </a>
    </Empty>
  )
}

/** The currency of prices without one; '' if the store has none. */
export function currencyOf({ store_config: { currency } }: Store): string {
  return typeof currency === 'string' ? currency : ''
}
