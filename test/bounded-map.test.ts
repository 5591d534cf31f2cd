import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BoundedMap } from '../lib/bounded-map.ts'
import { fc } from './support/seeds.ts'

test('a bounded map holds at most its capacity, and at least the newest half', () => {
  const key = fc.integer({ min: 0, max: 30 }).map(String)
  const use = fc.tuple(key, fc.constantFrom('get', 'set'))
  fc.assert(
    fc.property(fc.array(use, { size: 'large' }), (uses) => {
      const map = new BoundedMap<number>(10)
      let used: string[] = [] // the keys, the latest use last
      for (const [n, [key, how]] of uses.entries()) {
        if (how === 'set') map.set(key, n)
        else if (map.get(key) === undefined) continue
        used = [...used.filter((each) => each !== key), key]
      }
      for (const kept of used.slice(-5)) assert.notEqual(map.get(kept), undefined)
      assert.ok(used.filter((each) => map.get(each) !== undefined).length <= 10)
    }),
  )
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
  map.clear()
  assert.deepEqual([map.get('b'), map.get('c')], [undefined, undefined])
})
