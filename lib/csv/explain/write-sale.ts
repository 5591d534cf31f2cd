import { excerpt } from '../../errors.ts'
import type { Column, Items } from './columns.ts'
import { countOf, type Draft, MAX_NAMED, namesOf, orOf } from './draft.ts'
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
    draft.keys.skip = { ...draft.keys.skip, [column.name]: [''] }
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
  if (!user) return
  const { column } = user
  draft.columns.user_id = column.name
  draft.use('user_id', 'ids', [column])
  if (other) draft.remarks.push(`${other.column.name} may name the user as well`)
}

export function writeStatus(draft: Draft, { column, known, unknown }: Statuses) {
  draft.columns.status = column.name
  draft.keys.statuses = Object.fromEntries(known)
  draft.use('status', 'words', [column])
  if (unknown.length === 0) return
  const words = unknown.map(([word]) => word)
  draft.keys.skip = {
    ...draft.keys.skip,
    [column.name]: [...(draft.keys.skip?.[column.name] ?? []), ...words],
  }
  const named = unknown.slice(0, MAX_NAMED).map(([word, rows]) => {
    const shown = word === '' ? 'the empty cell' : `"${excerpt(word)}"`
    return `${shown} (${countOf(rows, 'row')})`
  })
  const question = `What status do these words of ${column.name} mean: ${named.join(', ')}?`
  draft.ask('statuses', question, 'none: the rows are passed over')
}

/** Asks for the words of a column that is named as the status, if none of them is known. */
export function askStatus(draft: Draft, columns: readonly Column[]) {
  const named = columns.find(
    ({ concepts, words, kind }) =>
      concepts.has('status') &&
      !concepts.has('shipping') &&
      words &&
      words.size > 1 &&
      (kind === 'text' || kind === 'code'),
  )
  if (!named) return
  const question = `Do the words of ${named.name} say which sales were refunded or cancelled: ${named.samples.join(', ')}?`
  draft.ask('statuses', question, 'none: all rows count as purchased')
}
