import type { ErrorDetail } from '../errors.ts'
import { invalidFields } from './fields.ts'
import { isText, type JsonObject } from './json.ts'
import { optional, rule, text, withSchema } from './rules.ts'

/** A rule for a `webhook_url` that may be stored already. Older versions stored any http URL. */
export const storedWebhookUrl = rule(
  (value): value is string => isText(value) && parseHttpUrl(value) !== undefined,
  'must be an http or https URL',
  { type: 'string', format: 'uri', description: 'An http or https URL without credentials.' },
)

/** `URL` removes or replaces these characters, so the text would look like another URL. */
const MISLEADING = /[\p{Cc}\p{Bidi_Control}\s\\]/u

/** A rule for a new `webhook_url`. */
export const webhookUrl = rule(
  (value): value is string => {
    const url = isText(value) && !MISLEADING.test(value) ? parseHttpUrl(value) : undefined
    return url !== undefined && url.username === '' && url.password === ''
  },
  'must be an http or https URL without credentials, blanks, backslashes and control characters',
  storedWebhookUrl.schema,
)

/**
 * Returns a stored `webhook_url` in the form that a person can compare: as ASCII, with the punycode
 * of the host. Returns other text, such as '', unchanged.
 */
export function showWebhookUrl(url: string): string {
  return parseHttpUrl(url)?.href ?? url
}

/**
 * Whether a URL needs the operator's option for private addresses: it is not https, or its host is
 * `localhost` or a private address. A name may still have a private address.
 */
export function isPrivateUrl(text: string): boolean {
  const url = parseHttpUrl(text)
  if (!url) return false
  return url.protocol !== 'https:' || PRIVATE_HOST.test(url.hostname)
}

// `URL` has converted each IPv4 address to four decimal numbers, and shortened each IPv6 address.
const PRIVATE_V4 =
  '(0|10|127)\\.|169\\.254\\.|192\\.168\\.|172\\.(1[6-9]|2\\d|3[01])\\.|100\\.(6[4-9]|[7-9]\\d|1[01]\\d|12[0-7])\\.'
const PRIVATE_V6 = '\\[(::|f[cd]|fe[89ab])'
const PRIVATE_HOST = new RegExp(`^((${PRIVATE_V4})[\\d.]+$|${PRIVATE_V6}|(.*\\.)?localhost\\.?$)`)

function parseHttpUrl(text: string): URL | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined
  return url && /^https?:$/.test(url.protocol) ? url : undefined
}

const anySecret = text(1, 1024)
// Libraries reject base64 without its padding.
const WHSEC = /^whsec_(?=.)([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/

/** A rule for a `webhook_secret`: `whsec_` and base64, or any other text, which is used as UTF-8. */
export const webhookSecret = withSchema<string>(
  { ...anySecret.schema, description: 'Any text, or `whsec_` and base64 with padding.' },
  (value, field, problems) => {
    const secret = anySecret(value, field, problems)
    if (isText(secret) && /^\s*whsec_/.test(secret) && !WHSEC.test(secret)) {
      const message = 'must have standard base64 with padding after whsec_, and nothing else'
      problems.push({ field, code: 'invalid', message })
    }
    return secret
  },
)

/** Whether a configuration has another `webhook_url` than the stored one. */
export function hasOtherUrl(sent: JsonObject, stored: JsonObject): boolean {
  return sent.webhook_url !== undefined && sent.webhook_url !== stored.webhook_url
}

/**
 * Returns the configuration that replaces `stored`: `sent`, and the stored secrets that it lacks.
 * Drops a stored `webhook_secret` for a new `webhook_url`, and a secret that is `null` in `sent`.
 * `name` is the field of the configuration. Throws `invalid_request` for a bad new `webhook_url`.
 */
export function replaceConfig(
  name: string,
  stored: JsonObject,
  sent: JsonObject,
  secrets: readonly string[],
): JsonObject {
  const kept = secrets.filter((key) => Object.hasOwn(stored, key)).map((key) => [key, stored[key]])
  const replaced: JsonObject = { ...Object.fromEntries(kept), ...sent }
  if (hasOtherUrl(sent, stored)) {
    const problems: ErrorDetail[] = []
    optional(webhookUrl)(sent.webhook_url, `${name}.webhook_url`, problems)
    if (problems.length > 0) throw invalidFields(problems)
    if (sent.webhook_secret === undefined) delete replaced.webhook_secret
  }
  for (const key of secrets) {
    if (replaced[key] === null) delete replaced[key]
  }
  return replaced
}
