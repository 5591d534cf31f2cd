import { createHmac } from 'node:crypto'

/**
 * Returns the header `webhook-signature` of Standard Webhooks 1.0. For each secret, the header has
 * `v1,` and the HMAC-SHA256 of `id.timestamp.body` in base64. Blanks separate the signatures.
 */
export function signWebhook(
  secrets: readonly string[],
  id: string,
  timestamp: number,
  body: string,
): string {
  const signed = `${id}.${timestamp}.${body}`
  const signatures = secrets.map((secret) =>
    createHmac('sha256', keyOf(secret)).update(signed).digest('base64'),
  )
  return signatures.map((each) => `v1,${each}`).join(' ')
}

/** A secret `whsec_…` is decoded from base64. Any other secret is used as UTF-8. */
function keyOf(secret: string): Buffer {
  const encoded = /^whsec_([A-Za-z0-9+/]+={0,2})$/.exec(secret)?.[1]
  return encoded === undefined ? Buffer.from(secret) : Buffer.from(encoded, 'base64')
}
