import {
  type CatalogPlan,
  type CatalogRequest,
  excerpt,
  type ItemType,
  type PlannedChange,
} from '../lib/index.ts'
import type { Invocation, OptionSpecs } from './command.ts'
import { UsageError } from './command-errors.ts'
import { openInput } from './input-file.ts'
import { pairOf } from './option-values.ts'
import { type Output, wrapList } from './output.ts'
import { createStatusLine } from './progress.ts'
import { formatValue } from './text.ts'

// The code that the commands `catalog plan` and `catalog apply` share.

export const CATALOG_OPTIONS = {
  project: { value: 'ID', help: 'the project; default the one in the file' },
  'archive-missing': { help: 'archive the items that the file does not have' },
  'create-stores': { help: 'create the stores that the project does not have' },
  'items-only': {
    help: "take only the items into --project's stores; ignore the file's project and store settings",
  },
  as: {
    value: 'FILE_STORE=STORE',
    multiple: true,
    parse: pairOf('FILE_STORE=STORE'),
    help: 'with --items-only: the store for a store of the file; may be repeated',
  },
  store: { value: 'ID', help: 'the store of a spreadsheet' },
  type: { value: 'T', help: 'the type of new items of a spreadsheet without types' },
  country: { value: 'CC', help: "whose prices of Google Play's file to read; default the first" },
} as const satisfies OptionSpecs

type Catalog = Invocation<typeof CATALOG_OPTIONS>

/**
 * Reads the catalog file. Resolves to the account that owns the project, and to the input for the
 * library's `plan` or `apply`.
 */
export async function readRequest({ till, operand, options, io, env }: Catalog) {
  const { readCatalog } = await import('./file-formats.ts')
  const line = createStatusLine(io.stderr)
  line.update(() => 'Reading the catalog')
  try {
    const { project, store } = options
    const given = project === undefined ? undefined : await till.accounts.ownerOf(project)
    const file = await readCatalog(openInput(operand, io).stream, {
      store_id: store,
      currency: await currencyOf(),
      country: options.country,
    })
    const inFile = options['items-only'] ? undefined : file.catalog?.project?.id
    const project_id = project ?? inFile
    if (typeof project_id !== 'string') {
      const reason = options['items-only'] ? "--items-only ignores the file's" : 'the file names no'
      throw new UsageError(`--project ID is missing: ${reason} project`)
    }
    const account = given ?? (await till.accounts.ownerOf(project_id))
    const request: CatalogRequest = {
      ...file,
      project_id: project,
      archive_missing: options['archive-missing'],
      create_stores: options['create-stores'],
      items_only: options['items-only'],
      as: options.as && Object.fromEntries(options.as),
      type: options.type as ItemType | undefined, // the library validates the type
      env,
    }
    return { account, request }

    async function currencyOf(): Promise<string | undefined> {
      if (!given || store === undefined) return undefined
      const { store_config } = await till.stores.get(given, store)
      return store_config.currency as string | undefined
    }
  } finally {
    line.end()
  }
}

/** Reads the stores and all items of a project, or of the catalog file without one. */
export async function* readStores({
  till,
  operand,
  options: { project: project_id },
  io,
}: Invocation<{ readonly project: { readonly value: 'ID'; readonly help: string } }>) {
  if ((project_id === undefined) === (operand === '')) {
    throw new UsageError('Give either --project ID or a catalog FILE')
  }
  if (project_id === undefined) {
    const { parseCatalogItems, readCatalog } = await import('./file-formats.ts')
    const file = await readCatalog(openInput(operand, io).stream)
    for (const [store_id, items] of await parseCatalogItems(file)) yield { store_id, items }
    return
  }
  const account = await till.accounts.ownerOf(project_id)
  for await (const { store_id } of till.stores.all(account, { project_id })) {
    const items = async function* () {
      yield* till.items.all(account, { store_id })
      yield* till.items.all(account, { store_id, archived: true })
    }
    yield { store_id, items: items() }
  }
}

const SHOWN = 100

/** Prints a plan: a line for each change, and the counts. */
export function printPlan(output: Output, plan: CatalogPlan, ignored: readonly string[]): void {
  if (output.json) {
    output.record(plan)
    return
  }
  const { changes, unset_variables, missing, unchanged, created, updated, archived, restored } =
    plan
  const rows = changes.slice(0, SHOWN).map((change) => {
    const { action, kind, store_id = '', name } = change
    return { action, store: store_id, record: name ?? kind, change: formatChange(change) }
  })
  if (rows.length > 0) output.table(rows, ['action', 'store', 'record', 'change'])
  const more = changes.length - rows.length
  if (more > 0) output.line(`and ${count(more)} more: --json lists all`)
  const done = { created, updated, archived, restored, unchanged }
  output.line(
    Object.entries(done)
      .map(([name, number]) => `${count(number)} ${name}`)
      .join(', '),
  )
  output.line(`digest ${plan.digest}`)
  if (missing > 0)
    output.line(
      `Not in the file, and left as they are: ${count(missing)} item${missing === 1 ? '' : 's'}`,
    )
  if (unset_variables.length > 0) {
    output.line(wrapList('Not set, so the stored secrets stay', unset_variables))
  }
  if (ignored.length > 0) output.line(wrapList('Not stored', ignored))
}

function formatChange({ fields = {}, item }: Pick<PlannedChange, 'fields' | 'item'>): string {
  if (item) {
    const archived = item.archived ? ', archived' : ''
    return `${formatValue(item.display_name)}, ${item.price} ${item.type}${archived}`
  }
  const changed = Object.entries(fields).map(
    ([name, { to, ...old }]) =>
      `${name}: ${'from' in old ? formatSide(old.from) : '…'} → ${formatSide(to)}`,
  )
  return changed.join(', ')
}

function formatSide(value: unknown): string {
  return value === undefined || value === '' ? 'none' : excerpt(formatValue(value))
}

function count(number: number): string {
  return number.toLocaleString('en-US')
}
