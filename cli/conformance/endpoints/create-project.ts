import { object, record, text } from '../shape.ts'
import { endpoint } from '../standard.ts'

export const PROJECT = {
  id: text,
  account_id: text,
  name: text,
  bundle_id: text,
  platform: text,
  status: text,
  config: object,
}

/**
 * The `config` of a project. Leaves out the keys for webhooks, because they could make the server
 * send messages.
 */
export const CONFIG = {
  sandbox_enabled: true,
  allowed_currencies: ['EUR', 'USD'],
  custom_settings: { feature_flags: { nested: [1, { two: true }] } },
}

export const projectCreation = endpoint({
  number: 8,
  answer: record(PROJECT),
  request: async ({ newProject }) => ({
    json: { ...(await newProject()), status: 'active', dlscheme: 'conformance', config: CONFIG },
  }),
  required: ['account_id', 'name', 'bundle_id', 'platform'],
  optional: ['status', 'dlscheme', 'config'],
  unusual: async (name, { newProject }) => ({ json: { ...(await newProject()), name } }),
  checks: ({ refuses, returns }) => [
    returns('the values that were sent', ': 200 response body', async ({ newProject }) => ({
      ...(await newProject()),
      config: CONFIG,
    })),
    refuses(
      'an unknown account with 400 or 401',
      'Resources: Project, account_id',
      ({ unique }) => ({ account_id: unique() }),
      [400, 401],
    ),
  ],
  open: ({ refuses, returns }) => [
    refuses('a platform in none of the lists', 'Resources: Project, platform values', {
      platform: 'toaster',
    }),
    refuses('a bundle_id that is no reverse domain', 'Resources: Project, bundle_id', {
      bundle_id: 'not a domain',
    }),
    refuses('a text as sandbox_enabled', 'Resources: Project, config keys', {
      config: { sandbox_enabled: 'yes' },
    }),
    returns('the status active by default', 'States', { status: undefined }, { status: 'active' }),
  ],
})
