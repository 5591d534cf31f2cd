// Lists a store of 100 items.
import { join } from 'node:path'
import { compare } from './compare.mjs'
import { fastifyPeer, honoPeer, requireWrk } from './load.mjs'
import { inFolder, seed } from './servers.mjs'

export async function bench() {
  requireWrk()
  await inFolder(async (folder) => {
    const seeded = join(folder, 'seeded.db')
    const { token } = await seed(seeded)
    await compare(folder, 'List of a store of 100 items', {
      seeded,
      requests: [
        { path: '/api/v1/items?store_id=main', headers: { authorization: `Bearer ${token}` } },
      ],
      rivals: { Fastify: fastifyPeer, Hono: honoPeer },
      credential: 'authorization',
      refusal: 401,
    })
  })
}
