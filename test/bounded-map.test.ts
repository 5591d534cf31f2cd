import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BoundedMap } from '../lib/bounded-map.ts'

test('a bounded map holds at most its capacity, and at least the newest half', () => {
  const map = new BoundedMap<number>(10)
  for (let n = 0; n < 1000; n++) {
    map.set(`${n}`, n)
    map.set(`${n}`, n)
    const newest = Array.from({ length: Math.min(5, n + 1) }, (_, i) => n - i)
    assert.deepEqual(
      newest.map((each) => map.get(`${each}`)),
      newest,
    )
  }
  const left = Array.from({ length: 1000 }, (_, n) => map.get(`${n}`))
  assert.ok(left.filter((value) => value !== undefined).length <= 10)
})

test('a key that is read or replaced often stays, however many others come', () => {
  const map = new BoundedMap<number>(10)
  map.set('read', 1)
  for (let n = 0; n < 1000; n++) {
    map.set(`${n}`, n)
    map.set('replaced', n)
    assert.equal(map.get('read'), 1)
  }
  assert.equal(map.get('replaced'), 999)
})

test('replacing one key again and again drops no other', () => {
  const map = new BoundedMap<number>(10)
  map.set('other', 1)
  for (let n = 0; n < 1000; n++) map.set('same', n)
  assert.equal(map.get('other'), 1)
})

test('values are weighed, and a value above half of the capacity is ignored', () => {
  const map = new BoundedMap<string>(10, (value) => value.length)
  map.set('a', 'xxx')
  map.set('huge', 'xxxxxx')
  assert.equal(map.get('a'), 'xxx')
  assert.equal(map.get('huge'), undefined)

  map.set('b', 'xxxx') // the newer half is full: `a` is now in the older one
  map.set('c', 'xxxx')
  assert.equal(map.get('a'), undefined)
  assert.equal(map.get('b'), 'xxxx')
})

test('a cleared map is empty', () => {
  const map = new BoundedMap<number>(10)
  for (let n = 0; n < 8; n++) map.set(`${n}`, n)
  map.clear()
  for (let n = 0; n < 8; n++) assert.equal(map.get(`${n}`), undefined)
})
