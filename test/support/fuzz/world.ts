import { tmpdir } from 'node:os'
import type { Till } from '../../../lib/index.ts'
import { createManagedShop } from '../openapi/requests.ts'
import { createShop } from '../till.ts'

export type World = Awaited<ReturnType<typeof createWorld>>

/** Creates three accounts with every kind of record, and credentials in every state. */
export async function createWorld(till: Till) {
  const home = await createShop(till, 'Home')
  const { account, account_key, project, project_id, token } = home
  const store_config = { platform: 'google_play', shared_secret: 'kept-shared-secret' }
  const iap = { store_id: 'iap', store_type: 'iap', store_config } as const
  await till.stores.create(account, { project_id, ...iap })
  const config = { webhook_secret: 'kept-webhook-secret' }
  await till.projects.update(account, { id: project_id, config })
  const lost = await till.accounts.addKey(account)
  await till.accounts.revokeKey(account, lost.key_id)
  const revoked = await till.sessions.token(project.public_key, { user_id: 'gone' })
  await till.sessions.revoke(account, { project_id, user_id: 'gone' })
  const { public_key } = await till.projects.rotateKey(account, { id: project_id, grace_period: 0 })
  const stranger = await createShop(till, 'Stranger')
  const managed = await createManagedShop(till, 'Managed')
  const [head, payload] = token.split('.')
  return {
    keys: { public_key, account_key },
    /** The examples of the management API may change this shop. */
    managed,
    names: {
      account_key,
      token,
      revoked_account_key: lost.account_key,
      foreign_account_key: stranger.account_key,
      former_public_key: project.public_key,
      foreign_public_key: stranger.public_key,
      foreign_item_id: stranger.item.id,
      revoked_token: revoked.token,
      foreign_token: stranger.token,
      expired_token: `${head}.${Buffer.from('{"exp":1}').toString('base64url')}.x`,
      unsigned_token: `${Buffer.from('{"alg":"none","typ":"JWT"}').toString('base64url')}.${payload}.`,
    },
    /** A request that gets the same answer at any time. */
    known: {
      line: `GET /api/v1/items/${stranger.item.id}`,
      parts: { token: stranger.token },
    },
    /** Texts that no response may contain. */
    secrets: [
      ...[account_key, lost.account_key, stranger.account_key, managed.account_key],
      ...[token, revoked.token, stranger.token, 'kept-shared-secret', 'kept-webhook-secret'],
      ...[process.cwd(), tmpdir(), 'node:', '.ts:', 'node_modules', 'SQLITE', 'INSERT INTO'],
    ],
    /** Another account's credentials, and facts that only requests with these may see. */
    foreign: {
      keys: [stranger.account_key, stranger.public_key, stranger.token],
      facts: [stranger.public_key, stranger.project_id, stranger.item.id, stranger.account_id],
    },
  }
}
