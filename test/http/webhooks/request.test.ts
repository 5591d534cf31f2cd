import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'
import { describe, type TestContext, test } from 'node:test'
import { RequestFailure } from '../../../http/webhooks/failure.ts'
import { createOutgoing, type OutgoingOptions } from '../../../http/webhooks/request.ts'
import { eventuallyHolds } from '../../support/eventually.ts'
import { startReceiver } from '../../support/receiver.ts'
import { character, fc } from '../../support/seeds.ts'
import { TLS_CERTIFICATE, TLS_KEY } from '../../support/tls.ts'

function open(t: TestContext, options: OutgoingOptions = { allowPrivate: true }) {
  const outgoing = createOutgoing(options)
  t.after(() => outgoing.close())
  const post = (url: string, body = '{}') =>
    outgoing.post({ url, headers: { 'webhook-id': 'msg_1' }, body })
  /** The kind of the failure; fails for an answer. */
  const fail = (url: string) =>
    post(url).then(
      ({ status }) => assert.fail(`status ${status}`),
      (error: unknown) => {
        assert.ok(error instanceof RequestFailure, `${error}`)
        return error.kind
      },
    )
  return { ...outgoing, post, fail }
}

/** A server that writes these bytes to each connection as soon as a request has begun. */
async function startRaw(t: TestContext, reply: (socket: Socket, connection: number) => void) {
  const sockets = new Set<Socket>()
  let connections = 0
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    const connection = ++connections
    socket.once('data', () => reply(socket, connection))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const { port } = server.address() as { port: number }
  return { url: `http://127.0.0.1:${port}/`, sockets }
}

test('sends the headers and the body, and returns the answer', async (t) => {
  const receiver = await startReceiver(t)
  receiver.answer = (response) => response.writeHead(200).end('thanks')
  const { post } = open(t)
  assert.deepEqual(await post(`${receiver.url}/hook?a=1#part`, '{"text":"żółw"}'), {
    status: 200,
    answer: 'thanks',
  })
  const [{ method, path, headers, body } = assert.fail()] = receiver.received
  assert.deepEqual([method, path, body], ['POST', '/hook?a=1', '{"text":"żółw"}'])
  assert.deepEqual(headers, {
    host: `127.0.0.1:${receiver.port}`,
    connection: 'keep-alive',
    'webhook-id': 'msg_1',
    'content-length': '18',
    'user-agent': 'tillkit-webhooks',
  })
})

test('repeats a message when the server closes the idle connection', async (t) => {
  const { url } = await startRaw(t, (socket, connection) => {
    socket.write('HTTP/1.1 204 No Content\r\n\r\n')
    if (connection === 1) socket.once('data', () => socket.destroy())
  })
  const { post } = open(t)
  assert.equal((await post(url)).status, 204)
  assert.equal((await post(url)).status, 204)
})

describe('without allowPrivate', () => {
  /** Resolves every name to these addresses in turn, and counts the calls. */
  function openStrict(t: TestContext, ...answers: readonly string[][]) {
    let calls = 0
    const resolve = async () => answers[Math.min(calls++, answers.length - 1)] ?? []
    return { ...open(t, { resolve }), calls: () => calls }
  }

  test('sends nothing to a private address, however it is written', async (t) => {
    const receiver = await startReceiver(t, { tls: { key: TLS_KEY, cert: TLS_CERTIFICATE } })
    const { fail } = openStrict(t, ['127.0.0.1'])
    const hosts = [
      ...['127.0.0.1', '127.1', '2130706433', '0x7f000001', '0177.0.0.1', '127.0.0.1.', '0'],
      ...['[::1]', '[::ffff:127.0.0.1]', '[::ffff:7f00:1]', '[::]', '[64:ff9b::7f00:1]'],
      ...['①②⑦.0.0.1', '127。0。0。1', 'localhost', 'localhost.', 'LOCALHOST', 'a.localhost'],
      ...['hooks.test', 'hooks.test.', '169.254.169.254', '10.0.0.1'],
    ]
    for (const host of hosts) {
      assert.equal(await fail(`https://${host}:${receiver.port}/`), 'refused', host)
    }
    assert.equal(receiver.connections(), 0)
  })

  test('sends nothing over http, and to no other scheme', async (t) => {
    const receiver = await startReceiver(t)
    const { fail, calls } = openStrict(t, ['127.0.0.1'])
    for (const url of [
      ...[receiver.url, 'http://hooks.test/', 'ftp://hooks.test/', 'file:///etc/x', 'data:,x'],
      ...['', 'hooks.test', 'https://', 'https://user:secret@hooks.test/'],
    ]) {
      assert.equal(await fail(url), 'refused', url)
    }
    assert.deepEqual([calls(), receiver.connections()], [0, 0])
  })

  test('refuses a name without a public address', async (t) => {
    const { fail } = openStrict(t, ['10.0.0.1', '::1', 'not an address'], [])
    assert.equal(await fail('https://hooks.test/'), 'refused')
    assert.equal(await fail('https://other.test/'), 'refused')
  })
})

describe('TLS', () => {
  const resolve = async () => ['127.0.0.1']
  const tls = { key: TLS_KEY, cert: TLS_CERTIFICATE }

  test('the certificate must be valid for the name', async (t) => {
    const receiver = await startReceiver(t, { tls })
    const options = { allowPrivate: true, resolve }
    const trusting = open(t, { ...options, ca: TLS_CERTIFICATE })
    const { status } = await trusting.post(`https://hooks.test:${receiver.port}/`)
    assert.equal(status, 204)
    assert.equal(await trusting.fail(`https://other.test:${receiver.port}/`), 'tls')
    assert.equal(await trusting.fail(receiver.url), 'tls')
    assert.equal(await open(t, options).fail(`https://hooks.test:${receiver.port}/`), 'tls')
    assert.equal(receiver.received.length, 1)
  })

  test('NODE_TLS_REJECT_UNAUTHORIZED=0 does not turn the check off', async (t) => {
    const receiver = await startReceiver(t, { tls })
    t.mock.method(process, 'emitWarning', () => {}) // Node warns of the variable
    const before = process.env.NODE_TLS_REJECT_UNAUTHORIZED
    process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0'
    t.after(() => {
      if (before === undefined) delete process.env.NODE_TLS_REJECT_UNAUTHORIZED
      else process.env.NODE_TLS_REJECT_UNAUTHORIZED = before
    })
    assert.equal(await open(t).fail(receiver.url), 'tls')
    assert.equal(receiver.received.length, 0)
  })
})

describe('answers', () => {
  test('a redirect is an answer, and is not followed', async (t) => {
    const receiver = await startReceiver(t)
    const location = 'http://169.254.169.254/latest/meta-data/'
    receiver.answer = (response) => response.writeHead(307, { location }).end()
    const { post } = open(t)
    assert.equal((await post(`${receiver.url}/a`)).status, 307)
    receiver.answer = (response) => response.writeHead(302, { location: '/b' }).end()
    const { status, answer } = await post(`${receiver.url}/a`)
    assert.deepEqual([status, answer], [302, 'Location: /b\n'])
    assert.deepEqual(
      receiver.received.map(({ path }) => path),
      ['/a', '/a'],
    )
  })

  test('at most 4 KiB of an endless answer are read', async (t) => {
    const receiver = await startReceiver(t)
    receiver.answer = (response, _, request) => {
      response.writeHead(200)
      const chunk = Buffer.alloc(64 * 1024, 'x')
      const send = () => {
        if (response.destroyed) return
        response.write(chunk, () => setImmediate(send))
      }
      request.socket.on('error', () => {})
      send()
    }
    const { status, answer } = await open(t).post(receiver.url)
    assert.equal(status, 200)
    assert.equal(answer, 'x'.repeat(4096))
    await eventuallyHolds(() => assert.equal(receiver.sockets.size, 0))
  })

  test('the first 4 KiB of an answer are read as UTF-8', async (t) => {
    const receiver = await startReceiver(t)
    const { post } = open(t)
    const answerTo = async (body: Uint8Array) => {
      receiver.answer = (response) => response.writeHead(200).end(body)
      return (await post(receiver.url)).answer
    }
    assert.equal(await answerTo(Buffer.alloc(4096, 0xff)), '\uFFFD'.repeat(4096))
    assert.equal(await answerTo(Buffer.from('ż'.repeat(2050))), 'ż'.repeat(2048))
  })

  test('an answer without a status in time is a failure', async (t) => {
    const receiver = await startReceiver(t)
    receiver.answer = () => {}
    const resolve = () => new Promise<never>(() => {})
    const { fail } = open(t, { allowPrivate: true, timeout: 50, resolve })
    assert.equal(await fail(receiver.url), 'timeout')
    assert.equal(await fail('https://hooks.test/'), 'timeout') // of the name server
    await eventuallyHolds(() => assert.equal(receiver.sockets.size, 0))
  })

  test('a status counts, also when the body stops or is cut off', async (t) => {
    const receiver = await startReceiver(t)
    const { post } = open(t, { allowPrivate: true, timeout: 200 })
    receiver.answer = (response) => response.writeHead(200).write('part')
    assert.deepEqual(await post(receiver.url), { status: 200, answer: 'part' })
    receiver.answer = (response) => {
      response.writeHead(200, { 'content-length': '100' }).write('cut', () => response.destroy())
    }
    assert.deepEqual(await post(receiver.url), { status: 200, answer: 'cut' })
  })

  test('a name that does not exist and a closed port are failures', async (t) => {
    const receiver = await startReceiver(t)
    await receiver.close()
    const resolve = () => Promise.reject(Object.assign(new Error('no'), { code: 'ENOTFOUND' }))
    const { fail } = open(t, { allowPrivate: true, resolve })
    assert.equal(await fail('https://hooks.test/'), 'dns')
    assert.equal(await fail(receiver.url), 'connection')
  })

  test('malformed and hostile answers are failures', async (t) => {
    const replies: readonly [string, string][] = [
      ['', 'connection'],
      ['nonsense\r\n\r\n', 'protocol'],
      ['HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nx', 'protocol'],
      [`HTTP/1.1 200 OK\r\na: ${'x'.repeat(9_000)}\r\n\r\n`, 'protocol'],
      ['HTTP/1.1 100 Continue\r\n\r\n'.repeat(1_000), 'protocol'],
      ['HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(1_000), 'protocol'],
      ['HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n', 'protocol'],
      ['HTTP/1.1 200 OK\r\nretry-after', 'connection'],
    ]
    for (const [reply, kind] of replies) {
      const { url } = await startRaw(t, (socket) => socket.end(reply))
      assert.equal(await open(t).fail(url), kind, JSON.stringify(reply.slice(0, 60)))
    }
  })

  test('arbitrary bytes never give more than a status, a text and a wait', async (t) => {
    let reply = Buffer.alloc(0)
    const { url } = await startRaw(t, (socket) => socket.end(reply))
    const { post } = open(t, { allowPrivate: true, timeout: 1_000 })
    const line = fc.oneof(
      fc.string({ unit: character, maxLength: 40 }),
      fc.constantFrom(
        ...['HTTP/1.1 200 OK', 'HTTP/1.1 503 x', 'HTTP/1.0 410', 'retry-after: 5', 'location: /'],
        ...['transfer-encoding: chunked', 'content-length: 3', 'connection: close', '', '3', 'abc'],
      ),
    )
    await fc.assert(
      fc.asyncProperty(fc.array(line, { maxLength: 8 }), fc.uint8Array(), async (lines, body) => {
        reply = Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`), body])
        const outcome = await post(url).catch((error: unknown) => error)
        if (outcome instanceof RequestFailure) return
        const { status, answer, retry_after = 0 } = outcome as Awaited<ReturnType<typeof post>>
        assert.ok(Number.isInteger(status) && status >= 0 && status <= 999, `${status}`)
        assert.ok(Buffer.byteLength(answer) <= 4096 && retry_after >= 0)
        assert.ok(answer.isWellFormed())
      }),
      { numRuns: 40 },
    )
  })
})
