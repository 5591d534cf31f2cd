import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { test } from 'node:test'
import { createFetchHandler, createHandler } from '../../http/index.ts'
import { createMemoryStorage, createTill } from '../../lib/index.ts'
import { serveConsole } from '../support/console/browser.ts'
import { createExpress, createHost, listen } from '../support/frameworks/host.ts'
import { assertProblem, startServer } from '../support/server.ts'

const [get, head] = [{ redirect: 'manual' }, { method: 'HEAD', redirect: 'manual' }] as const

interface Index {
  readonly version: string
  readonly openapi: string
  readonly health: string
}

const indexOf = async (answer: Response) => (await answer.json()) as Index

test('the start page leads to the console where it is served', async (t) => {
  const { url } = await serveConsole(t)
  for (const options of [get, head]) {
    const { status, headers } = await fetch(`${url}/`, options)
    assert.deepEqual([status, headers.get('location')], [302, './console'])
  }
  const followed = await fetch(url)
  assert.equal(followed.url, `${url}/console`)
  assert.match(followed.headers.get('content-type') ?? '', /^text\/html/)
})

test('without the console, the start page is an index of paths that work', async (t) => {
  const { url, send } = await startServer(t)
  const { version, openapi, health, ...rest } = await indexOf(await fetch(`${url}/`))
  assert.deepEqual(rest, { name: 'tillkit' })
  assert.match(version, /^\d+\.\d+\.\d+$/)
  for (const path of [openapi, health]) assert.equal((await fetch(new URL(path, url))).status, 200)
  const { status, headers, body } = await fetch(`${url}/`, head)
  assert.deepEqual([status, headers.get('content-type'), body], [200, 'application/json', null])
  assertProblem(await send('POST /'), 405, 'method_not_allowed')
})

test('below a base path, the start page has the paths with it', async (t) => {
  const till = createTill({ storage: await createMemoryStorage() })
  t.after(() => till.close())
  const handler = createFetchHandler(till, { basePath: '/shop' })
  for (const path of ['/shop', '/shop/']) {
    const answer = await handler(new Request(`http://till.test${path}`))
    assert.equal((await indexOf(answer)).openapi, '/shop/openapi.json')
  }
  for (const path of ['/', '/shopping']) {
    assert.equal((await handler(new Request(`http://till.test${path}`))).status, 404)
  }
})

test('a host application keeps its own start page', async (t) => {
  const { till, handler } = await createHost()
  const app = await createExpress()
  app.use(handler)
  app.use('/alone', (request, response) => handler(request, response))
  app.use((_, response) => void response.end('home'))
  const { url } = await listen(t, createServer(app))
  const fetched = createFetchHandler(till)
  const next = () => new Response('home')

  assert.equal(await (await fetch(url)).text(), 'home')
  assert.equal(await (await fetched(new Request('http://a/'), { next })).text(), 'home')
  const alone = await indexOf(await fetch(`${url}/alone`))
  assert.equal(alone.openapi, '/alone/openapi.json')
  const plain = await listen(t, createServer(createHandler(till)))
  assert.equal((await fetch(plain.url)).status, 200)
})
