// Reads one item by its id, without and with the request log. The bearer token is verified on each
// request.
import { join } from 'node:path'
import { compare } from './compare.mjs'
import { fastifyPeer, honoPeer, requireWrk } from './load.mjs'
import { inFolder, seed, startLoggingTillkit } from './servers.mjs'
import { count } from './table.mjs'

const PLAYERS = 1_000

export async function bench() {
  requireWrk()
  await inFolder(async (folder) => {
    const seeded = join(folder, 'seeded.db')
    const { items, tokens } = await seed(seeded, PLAYERS)
    const subject = {
      seeded,
      rivals: {
        'tillkit, log to a file': (db) => startLoggingTillkit(db, join(folder, 'requests.log')),
        'tillkit, log to /dev/null': startLoggingTillkit,
        Fastify: fastifyPeer,
        Hono: honoPeer,
      },
      credential: 'authorization',
      refusal: 401,
    }
    const requests = tokens.map((token, i) => ({
      path: `/api/v1/items/${items[i % items.length]}`,
      headers: { authorization: `Bearer ${token}` },
    }))
    await compare(folder, 'Item read, one player', { ...subject, requests: requests.slice(0, 1) })
    // Many tokens and items: caches help less here.
    const many = `Item read, ${count(PLAYERS)} players and ${items.length} items in turn`
    await compare(folder, many, { ...subject, requests })
  })
}
