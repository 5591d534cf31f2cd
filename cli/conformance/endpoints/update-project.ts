import { expectValues } from '../checks.ts'
import { isObject, record, text } from '../shape.ts'
import { endpoint } from '../standard.ts'
import type { World } from '../world.ts'
import { CONFIG, PROJECT } from './create-project.ts'

/** The stored configuration of the project, with other `custom_settings`. */
async function newConfig({ original }: World) {
  const { config } = await original()
  return { ...(isObject(config) ? config : {}), custom_settings: CONFIG.custom_settings }
}

export const projectUpdate = endpoint({
  number: 9,
  answer: record({ ...PROJECT, public_key: text }),
  request: async (world) => {
    const { id, platform } = await world.original()
    return { json: { id, name: world.unique(), platform, config: await newConfig(world) } }
  },
  required: ['id'],
  optional: ['name', 'platform', 'config'],
  unusual: async (name, { project }) => ({ json: { id: await project(), name } }),
  checks: ({ check, refuses, returns }) => [
    returns('the public key', ': 200 response body', {}, ({ public_key }) => ({ public_key })),
    check('changes the fields that are sent', ': request body', async (world) => {
      const config = await newConfig(world)
      const json = { id: await world.project(), name: world.unique(), config }
      await world.call(9, { json })
      expectValues(await world.call(9, { json: { id: json.id } }), json)
    }),
    check('keeps the fields that are left out', ': request body', async (world) => {
      const { id, account_id, bundle_id, platform } = await world.original()
      const config = await newConfig(world)
      await world.call(9, { json: { id, config } })
      const answer = await world.call(9, { json: { id, name: world.unique() } })
      expectValues(answer, { id, account_id, bundle_id, platform, config })
    }),
    check('changes the name that endpoint 2 returns', ': purpose', async (world) => {
      const project = { id: await world.project(), name: world.unique() }
      await world.call(9, { json: project })
      expectValues(await world.call(2, { json: world.newSession() }), { project })
    }),
    refuses(
      'an unknown project with 400 or 401',
      'Errors: 400, 401',
      ({ unique }) => ({ id: unique() }),
      [400, 401],
    ),
  ],
  open: ({ refuses }) => [
    refuses(
      'another project of the account with 400 or 401',
      'Errors: 400, 401',
      async ({ foreign }) => ({ id: (await foreign()).project_id }),
      [400, 401],
    ),
    refuses('a platform in none of the lists', 'Resources: Project, platform values', {
      platform: 'toaster',
    }),
  ],
})
