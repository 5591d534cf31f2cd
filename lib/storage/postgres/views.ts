import { viewsOf } from '../sql/views.ts'
import { DIALECT } from './purchases/summaries.ts'

export const VIEWS = viewsOf({
  from: DIALECT.from,
  current: DIALECT.current,
  // Unlike DROP VIEW, keeps what was granted on a view.
  create: (view) => `CREATE OR REPLACE VIEW ${view} AS`,
  fromMilliseconds: (column) => `timestamptz 'epoch' + ${column} * interval '1 millisecond'`,
  fromText: (column) => `CAST(${column} AS timestamptz)`,
})
