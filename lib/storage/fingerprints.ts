type Row = { readonly [column: string]: unknown }

/** Comes before all idempotency records: what their pages are taken after, as JSON. */
export const FIRST_IDEMPOTENCY_RECORD = '["",""]'

/** The idempotency records of a page whose fingerprints are to be changed. */
export function changedFingerprints(rows: readonly Row[], change: (fingerprint: string) => string) {
  return rows.flatMap((row) => {
    const fingerprint = change(row.fingerprint as string)
    if (fingerprint === row.fingerprint) return []
    return { account_id: row.account_id as string, key: row.key as string, fingerprint }
  })
}

/** Where the next page begins; nothing after the last one. */
export function afterIdempotencyRecords(
  rows: readonly Row[],
  limit: number,
): { readonly next?: string } {
  const last = rows.at(-1)
  if (!last || rows.length < limit) return {}
  return { next: JSON.stringify([last.account_id, last.key]) }
}
