type Row = { readonly [column: string]: unknown }

/** The cursor before the first idempotency record: an account id and a key, as JSON. */
export const FIRST_IDEMPOTENCY_RECORD = '["",""]'

/**
 * Calls `change` with the fingerprint (the hash of the request) of each idempotency record. Returns
 * the records whose fingerprint changes, with the new fingerprint.
 */
export function changedFingerprints(rows: readonly Row[], change: (fingerprint: string) => string) {
  return rows.flatMap((row) => {
    const fingerprint = change(row.fingerprint as string)
    if (fingerprint === row.fingerprint) return []
    return { account_id: row.account_id as string, key: row.key as string, fingerprint }
  })
}

/** Returns the cursor of the next page, if there is one. */
export function afterIdempotencyRecords(
  rows: readonly Row[],
  limit: number,
): { readonly next?: string } {
  const last = rows.at(-1)
  if (!last || rows.length < limit) return {}
  return { next: JSON.stringify([last.account_id, last.key]) }
}
