import { excerpt } from '../../errors.ts'
import type { Column, Items } from './columns.ts'
import { countOf, type Draft, MAX_NAMED, namesOf, orOf, skip } from './draft.ts'
import type { Ids } from './ids.ts'
import type { Statuses } from './statuses.ts'
import type { Times } from './times.ts'

// Each function writes what was found of a part into the layout, and asks what is open.

type Scored = { readonly column: Column; readonly score: number }

export function writeSku(
  draft: Draft,
  { column, score }: Scored,
  other: Scored | undefined,
  { empty, items }: { readonly empty: number; readonly items: Items },
) {
  draft.columns.sku = column.name
  const known = Math.round(column.skus * column.distinct)
  const seems = known > 0 ? `${known} of ${column.distinct} in the store` : 'SKUs of a vendor'
  draft.use('sku', column.names > column.skus ? 'names of items' : seems, [column])
  if (known < column.distinct && items.skus.size > 0) {
    const remark = `Of ${countOf(column.distinct, 'SKU')} in ${column.name}, ${column.distinct - known} name no item of the store: import with --skus`
    draft.remarks.push(remark)
  }
  if (empty > 0) {
    skip(draft, column, [''])
    draft.remarks.push(`${countOf(empty, 'row')} without ${column.name} will be passed over`)
  }
  if (!other || other.score < score - 2) return
  const question = `Which column names the item: ${orOf([column, other.column])}?`
  draft.ask('columns.sku', question, column.name)
}

export function writeIds(draft: Draft, { columns, repeated, different }: Ids) {
  draft.columns.transaction_id = namesOf(columns)
  const seems = columns.length > 1 ? 'ids, joined with the SKU' : 'ids'
  draft.use('transaction_id', seems, columns.slice(0, 1))
  const [first] = columns
  if (first?.concepts.size === 0) {
    const question = `Has ${first.name} the ids of the sales? Its cells all differ.`
    draft.ask('columns.transaction_id', question, first.name)
  }
  if (repeated === 0) return
  if (different > 0) draft.keys.number_repeats = true
  const named = columns.map(({ name }) => name).join(' and ')
  const how =
    different === 0
      ? 'They equal the earlier rows in all cells.'
      : `In other cells, ${different.toLocaleString('en-US')} of them differ.`
  const question = `${countOf(repeated, 'row')} with the ${named} of an earlier row: are these further sales, or the same ones again? ${how}`
  const chosen = different > 0 ? 'further sales (number_repeats)' : 'the same sales'
  draft.ask('number_repeats', question, chosen)
}

export function writeTimes(draft: Draft, { columns, dates, zone, rival }: Times) {
  const { date_format, other, needsZone } = dates
  draft.columns.purchased_at = namesOf(columns)
  if (date_format !== undefined) draft.keys.date_format = date_format
  const [first, ...others] = columns
  draft.use('purchased_at', date_format ? `dates, ${date_format}` : 'times', columns.slice(0, 1))
  draft.use('purchased_at', 'joined to the date', others)
  if (other !== undefined) {
    const question = `Is ${first?.samples[0]} of ${first?.name} ${date_format} or ${other}? Both fit all rows.`
    draft.ask('date_format', question, `${date_format}`)
  }
  if (needsZone) {
    draft.keys.zone = zone ?? 'UTC'
    if (zone === undefined) {
      const question = `In which time zone are the times of ${first?.name}?`
      draft.ask('zone', question, 'UTC')
    }
  }
  if (rival && first) {
    const question = `Which time is that of the sale: ${orOf([first, rival])}?`
    draft.ask('columns.purchased_at', question, first.name)
  }
}

export function writeUser(draft: Draft, [user, other]: readonly Scored[]) {
  if (!user) {
    draft.remarks.push('No column is the user: the purchases will belong to nobody')
    return
  }
  const { column } = user
  draft.columns.user_id = column.name
  draft.use('user_id', 'ids', [column])
  if (other) draft.remarks.push(`${other.column.name} may name the user as well`)
}

export function writeStatus(draft: Draft, { column, known, unknown, isAssumed }: Statuses) {
  draft.columns.status = column.name
  draft.keys.statuses = Object.fromEntries(known)
  draft.use('status', 'words', [column])
  if (unknown.length === 0) return
  const words = unknown.map(([word]) => word)
  if (!isAssumed) skip(draft, column, words)
  const named = unknown.slice(0, MAX_NAMED).map(([word, rows]) => {
    const shown = word === '' ? 'the empty cell' : `"${excerpt(word)}"`
    return `${shown} (${countOf(rows, 'row')})`
  })
  const question = `What status do these words of ${column.name} mean: ${named.join(', ')}?`
  const chosen = isAssumed
    ? `purchased. If ${column.name} is no status, remove columns.status and statuses`
    : 'none: the rows are passed over'
  draft.ask('statuses', question, chosen)
}

/** Asks about the columns that have the name of a status, and that the layout does not read. */
export function askStatus(draft: Draft, named: readonly Column[], status: Column | undefined) {
  const others = named.filter((column) => column !== status && column.words)
  if (status && others.length > 0) {
    const question = `Which column says which sales were refunded or cancelled: ${orOf([status, ...others.slice(0, MAX_NAMED)])}?`
    draft.ask('columns.status', question, status.name)
  }
  const [column] = named
  if (status || !column) return
  const question = `Do the texts of ${column.name} say which sales were refunded or cancelled: ${column.samples.join(', ')}?`
  draft.ask('columns.status', question, 'none: all rows count as purchased')
}
