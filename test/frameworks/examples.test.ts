import assert from 'node:assert/strict'
import { cpSync, symlinkSync } from 'node:fs'
import { createServer, type RequestListener, type Server } from 'node:http'
import { join, resolve } from 'node:path'
import { after, type TestContext, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import type { Till } from '../../lib/index.ts'
import { temporaryFolder } from '../support/folder.ts'
import { listen, load, useApi } from '../support/frameworks/host.ts'
import { createClient, type Send } from '../support/server.ts'

/** A copy of the package, with the frameworks that only the tests install. */
const folder = temporaryFolder({ after })
cpSync('package.json', join(folder, 'package.json'))
cpSync('examples', join(folder, 'examples'), { recursive: true })
symlinkSync(resolve('dist'), join(folder, 'dist'), 'junction')
symlinkSync(resolve('test/node_modules'), join(folder, 'node_modules'), 'junction')

const importFile = (path: string) => import(pathToFileURL(join(folder, path)).href)

type Handle = (request: Request) => Promise<Response>

/** Starts the application of an example. Returns a client of it. */
const examples: {
  readonly [name: string]: (
    t: TestContext,
    example: { createApp(...args: unknown[]): unknown },
    till: Till,
  ) => Promise<Send>
} = {
  async express(t, { createApp }, till) {
    return (await listen(t, createServer(createApp(till) as RequestListener))).send
  },
  async 'node-http'(t, { createApp }, till) {
    t.after(() => process.removeAllListeners('SIGTERM'))
    return (await listen(t, createApp(till) as Server)).send
  },
  async koa(t, { createApp }, till) {
    const app = createApp(till) as { callback(): RequestListener }
    return (await listen(t, createServer(app.callback()))).send
  },
  async fastify(t, { createApp }, till) {
    const app = createApp(till) as { ready(): Promise<void>; readonly server: Server }
    await app.ready()
    return (await listen(t, app.server)).send
  },
  async nestjs(t, { createApp }, till) {
    await import('reflect-metadata')
    const app = (await createApp(till, await createNestModule())) as {
      init(): Promise<void>
      getHttpServer(): Server
    }
    await app.init()
    return (await listen(t, app.getHttpServer())).send
  },
  async hono(t, { createApp }, till) {
    const { createAdaptorServer } = await import('@hono/node-server')
    return (await listen(t, createAdaptorServer(createApp(till) as never) as Server)).send
  },
  async bun(_t, { createApp }, till) {
    const app = createApp(till) as { fetch(request: Request, server: object): Promise<Response> }
    const server = { requestIP: () => ({ address: '127.0.0.1' }) }
    return createClient('http://localhost', (request) => app.fetch(request, server))
  },
  async deno(_t, { createApp }, till) {
    const serve = createApp(till) as (request: Request, info: object) => Promise<Response>
    const info = { remoteAddr: { hostname: '127.0.0.1' } }
    return createClient('http://localhost', (request) => serve(request, info))
  },
}

/** A module with the application's own routes. Calls the decorators, which Node has no syntax for. */
async function createNestModule(): Promise<object> {
  type Decorate = (target: object, name?: string, more?: object | number) => void
  type Decorator = (options?: object | string | number) => Decorate
  const nest =
    await load<Record<'Body' | 'Controller' | 'Get' | 'HttpCode' | 'Module' | 'Post', Decorator>>(
      '@nestjs/common',
    )
  class AppController {
    welcome() {
      return 'Welcome'
    }
    echo(body: object) {
      return body
    }
  }
  class AppModule {}
  const { prototype } = AppController
  const of = (name: string) => Object.getOwnPropertyDescriptor(prototype, name)
  nest.Get()(prototype, 'welcome', of('welcome'))
  nest.Post('echo')(prototype, 'echo', of('echo'))
  nest.HttpCode(200)(prototype, 'echo', of('echo'))
  nest.Body()(prototype, 'echo', 0)
  nest.Controller()(AppController)
  nest.Module({ controllers: [AppController] })(AppModule)
  return AppModule
}

for (const [name, start] of Object.entries(examples)) {
  test(`examples/${name}.mjs serves tillkit and the application`, async (t) => {
    const { createTill, createMemoryStorage } = await importFile('dist/lib/index.js')
    const till: Till = createTill({ storage: createMemoryStorage() })
    const send = await start(t, await importFile(`examples/${name}.mjs`), till)

    assert.equal((await send('GET /')).text, 'Welcome')
    assert.deepEqual((await send('POST /echo', { json: { a: 1 } })).json(), { a: 1 })
    await useApi(send, till)
    assert.equal((await send('GET /')).text, 'Welcome')
  })
}

test('examples/nextjs.mjs exports the handlers of a route', async () => {
  const route = (await importFile('examples/nextjs.mjs')) as { readonly [method: string]: Handle }
  const send = createClient('http://localhost:3000', (request) => {
    const handle = route[request.method] as Handle
    return handle(request)
  })
  const { till } = (globalThis as unknown as { readonly shop: { readonly till: Till } }).shop

  await useApi(send, till)
})
