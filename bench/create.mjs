// Creates items. Each item is on disk before it is acknowledged.
import { join } from 'node:path'
import { compare } from './compare.mjs'
import { barePeer, fastifyPeer, requireWrk } from './load.mjs'
import { inFolder, seed } from './servers.mjs'

export async function bench() {
  requireWrk()
  await inFolder(async (folder) => {
    const seeded = join(folder, 'seeded.db')
    const { account_key } = await seed(seeded)
    const item = {
      store_id: 'main',
      name: 'new_##########', // requests.lua replaces it with a number
      display_name: 'A new pack',
      description: 'All that is new, at once',
      price: '499',
      type: 'consumable',
      meta: { icon: 'new.png', stack: 99 },
    }
    await compare(folder, 'Item create, WAL and synchronous=FULL', {
      seeded,
      requests: [
        {
          method: 'POST',
          path: '/api/v1/items',
          headers: { 'x-account-key': account_key, 'content-type': 'application/json' },
          body: JSON.stringify(item),
        },
      ],
      rivals: { Fastify: fastifyPeer, 'node:http in groups': barePeer },
      credential: 'x-account-key',
      refusal: 401,
      varying: ['id'],
    })
  })
}
