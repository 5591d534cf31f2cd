// Opens sessions: reads project and stores, and signs a token.
import { join } from 'node:path'
import { compare } from './compare.mjs'
import { fastifyPeer, requireWrk } from './load.mjs'
import { inFolder, seed } from './servers.mjs'

export async function bench() {
  requireWrk()
  await inFolder(async (folder) => {
    const seeded = join(folder, 'seeded.db')
    const { public_key } = await seed(seeded)
    const device = { device_id: 'd-1', platform: 'ios', os_version: '19.1', app_version: '2.4.0' }
    await compare(folder, 'Session init', {
      seeded,
      requests: [
        {
          method: 'POST',
          path: '/api/v1/identity/auth/init',
          headers: { 'x-public-project-key': public_key, 'content-type': 'application/json' },
          body: JSON.stringify({ user_id: 'player-1', device_info: device }),
        },
      ],
      rivals: { Fastify: fastifyPeer },
      credential: 'x-public-project-key',
      refusal: 400,
      varying: ['token', 'expires_at'],
    })
  })
}
