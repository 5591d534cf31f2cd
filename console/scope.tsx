import { type ComponentChildren, createContext } from 'preact'
import { useContext } from 'preact/hooks'
import { type Store, TillError } from '../client/manage.ts'
import { type Loaded, type Signal, useLoad } from './data.ts'
import { Fields, type Values } from './parts/form.tsx'
import { Await, Empty } from './parts/notice.tsx'
import { Page } from './parts/page.tsx'
import { goTo, linkTo, type Query, usePlace } from './place.ts'
import { client } from './session.ts'

/** The most projects, and stores of a project, in the lists to choose from. */
const LISTED = 1000

type Scope = Awaited<ReturnType<typeof loadScope>>

const ScopeContext = createContext({} as Loaded<Scope>)

/** The value is that of an earlier place until that of the URL is loaded. */
export const useScope = () => useContext(ScopeContext)

export function ScopeProvider({ children }: { readonly children: ComponentChildren }) {
  const { project, store } = usePlace().query
  const scope = useLoad(loadScope, { project, store })
  return <ScopeContext.Provider value={scope}>{children}</ScopeContext.Provider>
}

const keyOf = ({ project, store }: Query) => `${project} ${store}`

/** Loads the projects, the stores of one, and the records that the URL names, or the first ones. */
async function loadScope(query: Query, options: Signal) {
  const { project: project_id, store: store_id } = query
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
  const sorted = stores.toSorted((a, b) => Number(a.is_sandbox) - Number(b.is_sandbox))
  /** The kind of record that the URL names and the account does not have. */
  const missing = project === null ? 'project' : named === null ? 'store' : undefined
  const store = missing ? undefined : (named ?? sorted[0])
  return {
    key: keyOf(query),
    projects,
    stores: sorted,
    project: project ?? undefined,
    store,
    missing,
  }
}

async function orNull<T>(answer: Promise<T>): Promise<T | null> {
  try {
    return await answer
  } catch (error) {
    if (error instanceof TillError && error.status === 404) return null
    throw error
  }
}

/** No id of a store, whose ids have no `*`. */
const ALL_STORES = '*'

/** The choice of the project, and with `hasStore` of the store, that the page shows. */
export function ScopeChoice({ hasStore }: { readonly hasStore: boolean }) {
  const { page, query } = usePlace()
  const { projects = [], stores = [], project, store } = useScope().value ?? {}
  const projectOptions = projects.map(({ id, name }) => [id, name] as const)
  const storeOptions = stores.map(({ store_id: id, is_sandbox }) => {
    return [id, is_sandbox ? `${id} (sandbox)` : id] as const
  })
  // Only the overview adds up several stores: all live ones of the account.
  const isOfAll = page === 'overview' && projects.length > 0
  if (isOfAll) storeOptions.push([ALL_STORES, 'All stores'])
  const fields = [
    { label: 'Project', name: 'project', options: projectOptions },
    { label: 'Store', name: 'store', options: hasStore ? storeOptions : [] },
  ]
  const choose = ({ project: id, store: chosen }: Values) => {
    if (chosen === ALL_STORES) return goTo(linkTo(page, '', { ...query, all: 'true' }))
    const store = id === project?.id ? chosen : undefined
    const kept = page === 'overview' ? { ...query, all: undefined } : {}
    // From one record, to the list of its kind.
    goTo(linkTo(page === 'player' ? 'purchases' : page, '', { ...kept, project: id, store }))
  }
  const shown = isOfAll && query.all ? ALL_STORES : store?.store_id
  return (
    <div class="scope">
      <Fields
        fields={fields.filter(({ options }) => options.length > 0)}
        values={{ project: project?.id ?? '', store: shown ?? '' }}
        onChange={choose}
      />
    </div>
  )
}

interface WithStoreProps {
  /** The title of the page while there is no store. */
  readonly title: string
  readonly children: (store: Store) => ComponentChildren
}

/** Shows its children for the chosen store. Without one, says how to create it. */
export function WithStore({ title, children }: WithStoreProps) {
  const { query } = usePlace()
  const loaded = useScope()
  const value = loaded.value?.key === keyOf(query) ? loaded.value : undefined
  if (value?.store) return <>{children(value.store)}</>
  return (
    <Page title={title}>
      <Await loaded={{ ...loaded, value }}>{NoStore}</Await>
    </Page>
  )
}

function NoStore({ missing, project }: Scope) {
  const next = project ? 'store' : 'project'
  return missing ? (
    <Empty
      title={`There is no such ${missing}`}
      text={`The account does not have the ${missing} in the address. Choose another one above.`}
    />
  ) : (
    <Empty
      title={`There is no ${next} yet`}
      text="Items and purchases belong to a store, and a store belongs to a project."
      next={[`Create a ${next}`, linkTo('projects', project?.id)]}
    />
  )
}
