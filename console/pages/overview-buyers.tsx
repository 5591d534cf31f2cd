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
}

/** Counting the buyers in 10 million purchases takes a minute. */
const TIMEOUT = 600_000

/** How many players paid in a currency for the first time, and how many had paid before. */
export function Buyers({ store_id, from }: BuyersProps) {
  const client = useClient()
  const query = { store_id, ...(from && { from }) }
  const loaded = useLoad(
    (signal) => client.purchases.buyers(query, { signal, timeout: TIMEOUT }),
    [store_id, from],
  )
  return (
    <Section title="New buyers">
      <Await loaded={loaded}>
        {({ buyers }) => {
          const rows = buyers
            .map(({ currency, ...counts }) => ({
              ...counts,
              currency: currency || 'without a price',
              buyers: counts.new + counts.returning,
            }))
            .sort((a, b) => b.buyers - a.buyers)
          return (
            <>
              <Bars
                label="New buyers"
                bars={rows.slice(0, 4).flatMap(({ currency, new: fresh, returning }) => [
                  { label: `new, ${currency}`, value: fresh, text: formatCount(fresh) },
                  {
                    ...{ label: `returning, ${currency}`, value: returning },
                    text: formatCount(returning),
                  },
                ])}
              />
              <details>
                <summary>Numbers</summary>
                <Table
                  label="New buyers"
                  rows={rows.slice(0, 50)}
                  keyOf={({ currency }) => currency}
                  columns={[
                    { label: 'Currency', cell: ({ currency }) => currency },
                    { label: 'New', cell: (row) => formatCount(row.new), isNumber: true },
                    {
                      ...{ label: 'Returning', isNumber: true },
                      cell: (row) => formatCount(row.returning),
                    },
                    { label: 'Buyers', cell: (row) => formatCount(row.buyers), isNumber: true },
                  ]}
                />
              </details>
            </>
          )
        }}
      </Await>
    </Section>
  )
}
