import type { ImportResult } from '../../client/manage.ts'
import {
  formatFuture,
  formatPassedOver,
  formatRepeated,
  formatUnequal,
  formatUnpriced,
} from '../../lib/domain/import-texts.ts'
import { PRESET_TITLES, type PresetName } from '../../lib/domain/preset.ts'
import { formatCount, formatDays, formatMoney } from '../format.ts'
import { Button } from '../parts/button.tsx'
import { Notice } from '../parts/notice.tsx'
import { Facts } from '../parts/page.tsx'
import { Table } from '../parts/table.tsx'

interface OutcomeProps {
  /** The result of a check, or of an import after it. */
  readonly result: ImportResult
  readonly checked: ImportResult | undefined
  readonly store_id: string
  readonly onImport: () => void
}

/** What a check or an import found in a file, and the next step. */
export function ImportOutcome({ result, checked, store_id, onImport }: OutcomeProps) {
  const { passed_over, passed_over_reasons, unequal, totals, ignored_columns } = result
  const { repeated, repeated_lines, others = 0 } = result
  const unpriced = formatUnpriced(totals)
  const future = formatFuture(result, Date.now())
  const rows = formatCount(result.rows, 'row')
  const other = passed_over > 0 ? 'other ' : ''
  return (
    <>
      {result.rows === 0 && <Notice title={`Nothing to import: the file has no ${other}rows`} />}
      {result.rows > 0 && result === checked && (
        <Notice tone="good" title={`No mistake in ${rows}`}>
          <p>Nothing is stored yet.</p>
          <Button label={`Import ${rows} into ${store_id}`} class="primary" onClick={onImport} />
        </Notice>
      )}
      {result.import_id && (
        <Notice tone="good" title={`Imported ${formatCount(result.added, 'new purchase')}`}>
          <p>
            The import is <code>{result.import_id}</code>. It can be undone below.
          </p>
        </Notice>
      )}
      {factsOf(result) !== factsOf(checked) && (
        <Notice tone="warning" title="These are not the rows that were checked">
          <p>The file has changed since the check. Compare the counts, or undo the import.</p>
        </Notice>
      )}
      <Facts
        of={result}
        fields={[
          ['Format', titleOf],
          ['Days (UTC)', daysOf],
          'rows',
          'added',
          'skipped',
          'updated',
        ]}
      />
      {future && <Notice tone="warning" title={future} />}
      {passed_over > 0 && <Notice title={formatPassedOver(passed_over, passed_over_reasons)} />}
      {repeated > 0 && <Notice tone="warning" title={formatRepeated(repeated, repeated_lines)} />}
      {unpriced && <Notice tone="warning" title={unpriced} />}
      {unequal.length > 0 && (
        <Notice tone="warning" title="The stored purchases keep their values">
          <ul>
            {unequal.map(formatUnequal).map((text) => (
              <li key={text}>{text}</li>
            ))}
          </ul>
        </Notice>
      )}
      <Table
        label={passed_over > 0 ? 'Totals of the other rows' : 'Totals of the rows in the file'}
        rows={totals}
        columns={[
          'status',
          ['Currency', ({ currency }) => currency || 'without a price'],
          ['rows', 'number'],
          [
            'Total',
            ({ total, currency }) => (currency ? formatMoney(total, currency) : '–'),
            'number end',
          ],
        ]}
      />
      {others > 0 && <p>And {formatCount(others, 'row')} of other groups.</p>}
      {totals.length > 1 && (
        <p class="muted">The totals count rows: a purchase and its refund are two rows.</p>
      )}
      {ignored_columns.length > 0 && (
        <Notice title="Columns that are not stored">
          <p>{ignored_columns.join(', ')}</p>
        </Notice>
      )}
    </>
  )
}

function factsOf(result?: ImportResult): string {
  return JSON.stringify([result?.rows, result?.totals])
}

function daysOf({ first_purchased_at: first = '', last_purchased_at: last = '' }: ImportResult) {
  return first === '' ? '–' : formatDays(Date.parse(first), Date.parse(last))
}

function titleOf({ layout }: ImportResult): string {
  return PRESET_TITLES[layout as PresetName] ?? layout
}
