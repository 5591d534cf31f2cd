import { viewsOf } from '../sql/views.ts'
import { CURRENT } from './purchases/summaries.ts'

const FROM = `
  FROM stores s
    CROSS JOIN imports i ON i.store = s.seq AND i.owner IS NULL
    CROSS JOIN purchases p ON p.import = i.seq
      AND p.seq BETWEEN i.first_purchase AND i.last_purchase
    LEFT JOIN purchase_changes c ON c.purchase = p.seq
      AND EXISTS (SELECT 1 FROM imports ci WHERE ci.seq = c.import AND ci.owner IS NULL)`

/** Other programs run these views, so they use no function of tillkit's connections. */
export const VIEWS = viewsOf({
  from: FROM,
  current: CURRENT,
  create: (view) => `DROP VIEW IF EXISTS ${view}; CREATE VIEW ${view} AS`,
  fromMilliseconds: (column) => `strftime('%Y-%m-%dT%H:%M:%fZ', ${column} / 1000.0, 'unixepoch')`,
  fromText: (column) => column,
})
