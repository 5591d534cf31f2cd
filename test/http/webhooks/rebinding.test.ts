import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createResolver, findReceiver } from '../../../http/webhooks/address.ts'
import { createOutgoing } from '../../../http/webhooks/request.ts'
import { startDns } from '../../support/dns.ts'
import { startReceiver } from '../../support/receiver.ts'

const URL = 'https://hooks.example.com/'

test('a name whose second answer is a private address is refused then', async (t) => {
  const dns = await startDns(t, (_, question) => [
    ...(question === 0 ? ['93.184.215.14'] : []),
    '10.0.0.1',
  ])
  const resolve = createResolver(false, [dns.address])

  const { addresses } = await findReceiver(URL, resolve, false)

  assert.deepEqual(addresses, ['93.184.215.14'])
  const message = /^The host has no public address: only a server with --webhook-allow-private /
  await assert.rejects(findReceiver(URL, resolve, false), { kind: 'refused', message })
})

test('a name without an address fails, and is not looked up in the hosts file', async (t) => {
  const dns = await startDns(t, () => [])
  const resolve = createResolver(false, [dns.address])
  await assert.rejects(findReceiver(URL, resolve, false), { kind: 'dns' })
})

test('a request connects to the address that was checked, and does not ask again', async (t) => {
  const receiver = await startReceiver(t)
  // Nothing listens on 127.0.0.2: a request that resolved the name again would fail.
  const dns = await startDns(t, (_, question) => [question === 0 ? '127.0.0.1' : '127.0.0.2'])
  const resolve = createResolver(false, [dns.address])
  const outgoing = createOutgoing({ allowPrivate: true, resolve })
  t.after(() => outgoing.close())

  const url = `http://hooks.example.com:${receiver.port}/`
  for (let i = 0; i < 3; i++) {
    for (const socket of receiver.sockets) socket.destroy() // the next request connects anew
    const { status } = await outgoing.post({ url, headers: {}, body: '{}' })
    assert.equal(status, 204)
  }

  assert.deepEqual(dns.asked, ['hooks.example.com'])
  assert.equal(receiver.received[0]?.headers.host, `hooks.example.com:${receiver.port}`)
})
