import {
  changeEndpoint,
  type EndpointOwner,
  type EndpointSecret,
  type EndpointWrite,
  endpointConfigOf,
  endpointIdOf,
  type StoredEndpoint,
} from '../../domain/endpoint.ts'
import { invalidField } from '../../domain/fields.ts'
import { isSameJson } from '../../domain/json.ts'
import type { Storage } from '../../storage/port.ts'
import { authorityOf, type Caller, mayActivateWebhooks } from '../access.ts'
import type { Context } from '../context.ts'
import type { Sealed, Sealer } from '../sealer.ts'
import { placeOf, type SecretHolder, secretsOf } from '../secret-fields.ts'

/**
 * Returns how a new or changed project or store changes its webhook endpoint: a list of one change,
 * or of none if its configuration is the same.
 */
export function endpointWrites(
  context: Pick<Context, 'sealer' | 'now'>,
  caller: Caller,
  before: SecretHolder | undefined,
  after: SecretHolder,
): EndpointWrite[] {
  if (before && isSameJson(secretsOf(before).config, secretsOf(after).config)) return []
  const mayActivate = mayActivateWebhooks(caller)
  const { owner } = secretsOf(after)
  const isSame = sameSecret(context, owner)
  if (!mayActivate && owner.store_id !== '') assertConfirmable(before, after, isSame)
  if (!before && !endpointConfigOf(after)) return []
  const change = {
    before: before && endpointConfigOf(before),
    after: endpointConfigOf(after),
    mayActivate,
    now: context.now(),
    isSame,
  }
  return [
    {
      endpoint_id: endpointIdOf(owner),
      authority: mayActivate ? authorityOf(caller, ['admin']) : undefined,
      change: (current) => changeEndpoint(current, owner, change),
    },
  ]
}

/**
 * A store whose webhooks are off has no endpoint that waits for a confirmation. So a caller who may
 * not activate webhooks leaves no URL or secret there: who turns them on would confirm both.
 */
function assertConfirmable(
  before: SecretHolder | undefined,
  after: SecretHolder,
  isSame: (one: unknown, other: unknown) => boolean,
): void {
  const is = secretsOf(after).config
  const was = before ? secretsOf(before).config : {}
  const isEmpty = is.webhook_url === undefined && is.webhook_secret === undefined
  if (is.webhook_enabled === true || isEmpty) return
  const isKept = was.webhook_enabled !== true && was.webhook_url === is.webhook_url
  if (isKept && isSame(was.webhook_secret, is.webhook_secret)) return
  const message =
    'must be true, because the key lacks the scope admin: its webhook_url waits for a confirmation'
  throw invalidField('store_config.webhook_enabled', 'required', message)
}

/**
 * Returns a function that compares two webhook secrets of an owner. Decrypts them, because the same
 * text has several encrypted forms.
 */
export function sameSecret({ sealer }: Pick<Context, 'sealer'>, owner: EndpointOwner) {
  const open = (secret: unknown) => sealer.open(secret as string | Sealed, webhookPlace(owner))
  return (one: unknown, other: unknown): boolean => {
    if (isSameJson(one, other)) return true
    if (one === undefined || other === undefined) return false
    const text = open(one)
    return text !== undefined && text === open(other)
  }
}

function webhookPlace(owner: EndpointOwner): string {
  return `${placeOf(owner)}/webhook_secret`
}

/**
 * The endpoint whose secrets sign the messages of an endpoint: that of its project, with or without a
 * URL, if a store has no secret of its own. Its unconfirmed secret signs nothing.
 */
export async function signerOf(
  storage: Pick<Storage, 'findEndpoint'>,
  endpoint: StoredEndpoint,
): Promise<StoredEndpoint> {
  if (endpoint.store_id === '' || endpoint.secrets.length > 0) return endpoint
  return (await storage.findEndpoint(endpoint.project_id)) ?? endpoint
}

/**
 * The texts of the secrets that sign a message: the newest, and each replaced one before its
 * `until`. Undefined if no master key decrypts the newest.
 */
export function openSecrets(
  sealer: Sealer,
  endpoint: StoredEndpoint,
  now: number,
): string[] | undefined {
  const place = webhookPlace(endpoint)
  const open = ({ secret }: EndpointSecret) => sealer.open(secret as string | Sealed, place)
  const [newest, ...replaced] = endpoint.secrets
  if (!newest) return []
  const text = open(newest)
  const valid = replaced.filter(({ until = 0 }) => until > now)
  return text === undefined ? undefined : [text, ...valid.flatMap((each) => open(each) ?? [])]
}

/**
 * Encrypts all secrets of an endpoint with the newest key, even replaced and unconfirmed secrets.
 */
export function renewEndpoint(sealer: Sealer, endpoint: StoredEndpoint): StoredEndpoint {
  const place = webhookPlace(endpoint)
  const renew = <T extends { readonly secret?: unknown }>(held: T): T =>
    held.secret === undefined
      ? held
      : { ...held, secret: sealer.renew(held.secret as string | Sealed, place) }
  const { secrets, unconfirmed } = endpoint
  return {
    ...endpoint,
    secrets: secrets.map(renew),
    ...(unconfirmed && { unconfirmed: renew(unconfirmed) }),
  }
}
