import { expect } from '../checks.ts'
import { boolean, object, oneOf, record, text, valueAt } from '../shape.ts'
import { endpoint } from '../standard.ts'

const KEYS = 'Resources: Store, store_config keys'
const COMMON = { currency: 'EUR', webhook_enabled: false, webhook_url: 'https://shop.example/hook' }

/** The `config` for each store type. Leaves out secrets, because a server may hide them. */
const CONFIGS = {
  iap: { ...COMMON, platform: 'google_play', bundle_id: 'com.example.game' },
  web: {
    ...COMMON,
    payment_methods: ['card', 'wallet'],
    return_url: 'https://shop.example/return',
    cancel_url: 'https://shop.example/cancel',
  },
  custom: { ...COMMON, provider: 'example' },
}

export const storeCreation = endpoint({
  number: 10,
  answer: record({
    store_id: text,
    project_id: text,
    store_type: oneOf('iap', 'web', 'custom'),
    is_sandbox: boolean,
    status: text,
    store_config: object,
  }),
  request: async ({ newStore }) => ({
    json: {
      ...(await newStore()),
      is_sandbox: true,
      status: 'active',
      store_config: { currency: 'EUR', test_mode: true },
    },
  }),
  required: ['project_id', 'store_type'],
  optional: ['store_id', 'is_sandbox', 'status', 'store_config'],
  unusual: async (status, { newStore }) => ({ json: { ...(await newStore()), status } }),
  checks: ({ check, accepts, refuses, returns }) => [
    ...Object.entries(CONFIGS).flatMap(([store_type, store_config]) => [
      accepts(`the type ${store_type} with its keys`, KEYS, { store_type, store_config }),
      returns(`the values that were sent for ${store_type}`, KEYS, async ({ newStore }) => ({
        ...(await newStore()),
        store_type,
        store_config,
      })),
    ]),
    returns(
      'false as is_sandbox by default',
      ': is_sandbox',
      { is_sandbox: undefined },
      { is_sandbox: false },
    ),
    check('generates a store_id', ': store_id', async ({ call, newStore }) => {
      const { project_id, store_type } = await newStore()
      const answer = await call(10, { json: { project_id, store_type } })
      expect(valueAt(answer.body, 'store_id') !== '', 'a store_id', answer)
    }),
    refuses('an unlisted type', ': store_type', { store_type: 'market' }),
    refuses('an unknown project', 'Errors: 400', ({ unique }) => ({ project_id: unique() })),
  ],
  open: ({ refuses, returns }) => [
    refuses('a store_id that exists', ': store_id', async ({ store }) => ({
      store_id: await store(),
    })),
    ...['app_store', 'epic_game_store', 'steam'].map((platform) =>
      refuses(`the iap platform ${platform}, which is not supported yet`, KEYS, {
        store_type: 'iap',
        store_config: { platform },
      }),
    ),
    refuses('a number as currency', KEYS, { store_config: { currency: 5 } }),
    returns('the status active by default', 'States', { status: undefined }, { status: 'active' }),
  ],
})
