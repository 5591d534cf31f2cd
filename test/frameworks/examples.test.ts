// run: early
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, symlinkSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { after, type TestContext, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { createTill } from '../../lib/index.ts'
import { eventuallyHolds } from '../support/eventually.ts'
import { temporaryFolder } from '../support/folder.ts'
import { useApi } from '../support/frameworks/host.ts'
import { freePort } from '../support/port.ts'
import { createClient, type Send } from '../support/server.ts'
import { openSqlite } from '../support/sqlite.ts'

/** A copy of the package, with the frameworks that only the tests install. */
const folder = temporaryFolder({ after })
cpSync('package.json', join(folder, 'package.json'))
cpSync('examples', join(folder, 'examples'), { recursive: true })
symlinkSync(resolve('dist'), join(folder, 'dist'), 'junction')
symlinkSync(resolve('test/node_modules'), join(folder, 'node_modules'), 'junction')

const fileOf = (name: string) => join(folder, `examples/${name}.mjs`)

/** A till on the database that an example opens in its working directory. */
async function openShop(t: TestContext, cwd: string) {
  const till = createTill({ storage: await openSqlite(join(cwd, 'shop.db')) })
  t.after(till.close)
  return till
}

for (const name of ['express', 'fastify', 'koa', 'nestjs', 'node-http', 'hono']) {
  test(`node ${name}.mjs serves tillkit and the application`, async (t) => {
    const cwd = temporaryFolder(t)
    const till = await openShop(t, cwd)
    const PORT = String(await freePort())
    const env = { ...process.env, PORT }
    const child = spawn(process.execPath, [fileOf(name)], { cwd, env, stdio: 'inherit' })
    const ended = once(child, 'exit')
    t.after(async () => {
      child.kill('SIGKILL')
      await ended
    })
    const send = createClient(`http://localhost:${PORT}`)
    await eventuallyHolds(async () => {
      assert.equal(child.exitCode, null)
      assert.equal((await send('GET /')).text, 'Welcome')
    })

    assert.deepEqual((await send('POST /echo', { json: { a: 1 } })).json(), { a: 1 })
    await useApi(send, till)
    assert.equal((await send('GET /')).text, 'Welcome')
  })
}

type Handle = (request: Request, info?: object) => Promise<Response>

/** The global of a runtime, with which an example serves. */
const runtimes: { readonly [name: string]: (serve: (handle: Handle) => void) => object } = {
  bun(serve) {
    const server = { requestIP: () => ({ address: '127.0.0.1' }) }
    return { Bun: { serve: (app: { fetch: Handle }) => serve((each) => app.fetch(each, server)) } }
  },
  deno(serve) {
    const info = { remoteAddr: { hostname: '127.0.0.1' } }
    return { Deno: { serve: (_: object, fetch: Handle) => serve((each) => fetch(each, info)) } }
  },
}

/** Imports an example in another working directory, in which it opens its database. */
async function importIn(cwd: string, name: string) {
  const before = process.cwd()
  process.chdir(cwd)
  try {
    const module = await import(pathToFileURL(fileOf(name)).href)
    await (globalThis as { readonly shop?: Promise<unknown> }).shop
    return module
  } finally {
    process.chdir(before)
  }
}

for (const [name, globalsOf] of Object.entries(runtimes)) {
  test(`examples/${name}.mjs serves tillkit and the application`, async (t) => {
    const cwd = temporaryFolder(t)
    const till = await openShop(t, cwd)
    let handle: Handle | undefined
    const globals = globalsOf((each) => (handle = each))
    Object.assign(globalThis, globals)
    t.after(() => {
      for (const each of Object.keys(globals)) Reflect.deleteProperty(globalThis, each)
    })
    await importIn(cwd, name)
    const send: Send = createClient('http://localhost', handle ?? assert.fail('serves nothing'))

    assert.equal((await send('GET /')).text, 'Welcome')
    assert.deepEqual((await send('POST /echo', { json: { a: 1 } })).json(), { a: 1 })
    await useApi(send, till)
  })
}

test('examples/nextjs.mjs exports the handlers of a route', async (t) => {
  const cwd = temporaryFolder(t)
  const till = await openShop(t, cwd)
  const route: { readonly [method: string]: Handle } = await importIn(cwd, 'nextjs')
  const send = createClient('http://localhost:3000', (request) => {
    const handle = route[request.method] ?? assert.fail(request.method)
    return handle(request)
  })

  await useApi(send, till)
})
