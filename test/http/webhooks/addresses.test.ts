import assert from 'node:assert/strict'
import { isIP } from 'node:net'
import { test } from 'node:test'
import { isPublicAddress } from '../../../http/webhooks/address.ts'
import { fc } from '../../support/seeds.ts'

test('addresses of hosts on the internet are public', () => {
  const addresses = [
    ...['1.1.1.1', '8.8.8.8', '100.63.255.255', '100.128.0.0', '172.15.255.255', '172.32.0.0'],
    ...['11.0.0.0', '169.253.255.255', '192.0.1.0', '198.17.255.255', '198.20.0.0'],
    ...['223.255.255.255', '168.63.129.15'],
    ...['2606:4700:4700::1111', '2a00:1450:4001:80f::200e', '2001:200::1', '2620:fe::fe'],
  ]
  assert.deepEqual(
    addresses.filter((each) => !isPublicAddress(each)),
    [],
  )
})

test('loopback, private, link-local, shared, multicast and reserved addresses are not public', () => {
  const addresses = [
    ...['0.0.0.0', '0.255.255.255', '10.0.0.1', '10.255.255.255', '100.64.0.0', '100.127.255.255'],
    ...['127.0.0.1', '127.255.255.255', '169.254.169.254', '172.16.0.0', '172.31.255.255'],
    ...['192.0.0.192', '192.0.2.1', '192.88.99.1', '192.168.0.1', '198.18.0.1', '198.19.255.255'],
    ...['198.51.100.1', '203.0.113.1', '224.0.0.1', '239.255.255.255', '240.0.0.1'],
    ...['255.255.255.255', '168.63.129.16', '100.100.100.200'],
    ...['::', '::1', 'fe80::1', 'febf::1', 'fec0::1', 'fc00::1', 'fd00:ec2::254', 'ff02::1'],
    ...['2001:db8::1', '3fff::1', '100::1', '5f00::1', '2001::1', '2001:20::1'],
  ]
  assert.deepEqual(addresses.filter(isPublicAddress), [])
})

test('IPv6 addresses that contain an IPv4 address are not public', () => {
  const addresses = [
    ...['::ffff:127.0.0.1', '::ffff:7f00:1', '::ffff:8.8.8.8', '0:0:0:0:0:ffff:10.0.0.1'],
    ...['::127.0.0.1', '::ffff:0:127.0.0.1', '64:ff9b::7f00:1', '64:ff9b::8.8.8.8'],
    ...['64:ff9b:1::a00:1', '2002:7f00:1::', '2002:a00:1::1', '2001:0:4136:e378::'],
  ]
  assert.deepEqual(addresses.filter(isPublicAddress), [])
})

test('text that is not an IP address is not public', () => {
  const texts = [
    ...['', 'localhost', '127.1', '2130706433', '0x7f.0.0.1', '0177.0.0.1', '8.8.8', '8.8.8.8 '],
    ...['[2606::1]', 'fe80::1%eth0'],
  ]
  assert.deepEqual(texts.filter(isPublicAddress), [])
  fc.assert(fc.property(fc.string(), (text) => isIP(text) !== 0 || !isPublicAddress(text)))
})

test('every spelling of an IPv6 address gets the same answer', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(0xffff), { minLength: 8, maxLength: 8 }), (groups) => {
      const long = groups.map((group) => group.toString(16).padStart(4, '0')).join(':')
      const { hostname } = new URL(`http://[${long}]`)
      assert.equal(isPublicAddress(hostname.slice(1, -1)), isPublicAddress(long.toUpperCase()))
    }),
  )
})
