import { tmpdir } from 'node:os'
import type { Till } from '../../lib/index.ts'
import { createShop } from '../support/till.ts'
import type { FuzzRequest } from './requests.ts'

/** The values that requests refer to, and the texts that no response may contain. */
export interface World {
  readonly keys: { readonly public_key: string; readonly account_key: string }
  /** Returns the request with all names in double braces replaced. */
  fill(request: FuzzRequest): FuzzRequest
  /** Texts that no response may contain. */
  readonly secrets: readonly string[]
  /** Another account's credentials, and facts that only requests with these credentials may see. */
  readonly foreign: { readonly keys: readonly string[]; readonly facts: readonly string[] }
}

/** Creates two accounts with every kind of record, and credentials in every state. */
export async function createWorld(till: Till): Promise<World> {
  const home = await createShop(till, 'Home')
  const { account, project } = home
  const store_config = { platform: 'google_play', shared_secret: 'kept-shared-secret' }
  const iap = { store_id: 'iap', store_type: 'iap', store_config } as const
  await till.stores.create(account, { project_id: project.id, ...iap })
  const config = { webhook_secret: 'kept-webhook-secret' }
  await till.projects.update(account, { id: project.id, config })
  const lost = await till.accounts.addKey(account)
  await till.accounts.revokeKey(account, lost.key_id)
  const revoked = await till.sessions.token(project.public_key, { user_id: 'gone' })
  await till.sessions.revoke(account, { project_id: project.id, user_id: 'gone' })
  const { public_key } = await till.projects.rotateKey(account, {
    id: project.id,
    gracePeriod: 0,
  })

  const stranger = await createShop(till, 'Stranger')
  const [head, payload] = home.token.split('.')
  const names: { readonly [name: string]: string } = {
    account_id: account.account_id,
    account_key: account.account_key,
    revoked_account_key: lost.account_key,
    foreign_account_key: stranger.account_key,
    project_id: project.id,
    public_key,
    former_public_key: project.public_key,
    foreign_public_key: stranger.public_key,
    item_id: home.item.id,
    foreign_item_id: stranger.item.id,
    token: home.token,
    revoked_token: revoked.token,
    foreign_token: stranger.token,
    expired_token: `${head}.${Buffer.from('{"exp":1}').toString('base64url')}.x`,
    unsigned_token: `${Buffer.from('{"alg":"none","typ":"JWT"}').toString('base64url')}.${payload}.`,
  }
  let made = 0
  const fill = (text: string) =>
    text.replaceAll(/\{\{(\w+)\}\}/g, (whole, name: string) =>
      name === 'fresh' ? String(++made) : (names[name] ?? whole),
    )
  return {
    keys: { public_key, account_key: account.account_key },
    fill: (request) => ({
      ...request,
      target: fill(request.target),
      headers: request.headers.map(([name, value]) => [name, fill(value)]),
      body: fill(request.body),
    }),
    secrets: [
      ...[account.account_key, lost.account_key, stranger.account_key],
      ...[home.token, revoked.token, stranger.token, 'kept-shared-secret', 'kept-webhook-secret'],
      ...[process.cwd(), tmpdir(), 'node:', '.ts:', 'node_modules', 'SQLITE', 'INSERT INTO'],
    ],
    foreign: {
      keys: [stranger.account_key, stranger.public_key, stranger.token],
      facts: [stranger.public_key, stranger.project_id, stranger.item.id, stranger.account_id],
    },
  }
}
