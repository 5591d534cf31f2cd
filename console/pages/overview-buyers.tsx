import type { PurchaseSummary } from '../../client/manage.ts'
import { useLoad } from '../data.ts'
import { formatCount } from '../format.ts'
import { Bars } from '../parts/bars.tsx'
import { Await } from '../parts/notice.tsx'
import { Section } from '../parts/page.tsx'
import { Table } from '../parts/table.tsx'
import { useClient } from '../session.ts'

interface BuyersProps {
  readonly store_id: string
  /** The first day of the period; undefined for all time. */
  readonly from: string | undefined
  /** Milliseconds. */
  readonly timeout: number
}

/** How many players paid in a currency for the first time, and how many had paid before. */
export function Buyers({ store_id, from, timeout }: BuyersProps) {
  const client = useClient()
  const loaded = useLoad(
    async (signal) => {
      const count = async (period: { readonly from?: string; readonly to?: string }) => {
        const query = { store_id, by: ['currency'] as const, ...period }
        const { summaries } = await client.purchases.summarize(query, { signal, timeout })
        return summaries
      }
      const all = await count({})
      if (from === undefined) return all.map((row) => shares(row, row.buyers, 0))
      const [before, during] = await Promise.all([count({ to: from }), count({ from })])
      return during.map((row) =>
        shares(row, row.buyers, buyersIn(before, row) - buyersIn(all, row) + row.buyers),
      )
    },
    [store_id, from],
  )
  const shown = (rows: readonly Shares[], most: number) =>
    rows
      .filter(({ buyers }) => buyers > 0)
      .sort((a, b) => b.buyers - a.buyers)
      .slice(0, most)
  return (
    <Section title="New buyers">
      <Await loaded={loaded}>
        {(rows) => (
          <>
            <Bars
              label="New buyers"
              bars={shown(rows, 4).flatMap(({ currency, fresh, returning }) => [
                { label: `new, ${currency}`, value: fresh, text: formatCount(fresh) },
                { label: `returning, ${currency}`, value: returning, text: formatCount(returning) },
              ])}
            />
            <details>
              <summary>Numbers</summary>
              <Table
                label="New buyers"
                rows={shown(rows, 50)}
                keyOf={({ currency }) => currency}
                columns={[
                  { label: 'Currency', cell: ({ currency }) => currency },
                  { label: 'New', cell: ({ fresh }) => formatCount(fresh), isNumber: true },
                  { label: 'Returning', cell: (row) => formatCount(row.returning), isNumber: true },
                  { label: 'Buyers', cell: ({ buyers }) => formatCount(buyers), isNumber: true },
                ]}
              />
            </details>
          </>
        )}
      </Await>
    </Section>
  )
}

type Shares = ReturnType<typeof shares>

function shares({ currency }: PurchaseSummary, buyers: number, returning: number) {
  const name = currency || 'without a price'
  return { currency: name, buyers, returning, fresh: buyers - returning }
}

function buyersIn(rows: readonly PurchaseSummary[], { currency }: PurchaseSummary): number {
  return rows.find((row) => row.currency === currency)?.buyers ?? 0
}
