// run: early
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { openTab, signIn, skip } from '../support/console/browser.ts'
import { openShop } from '../support/console/shop.ts'

const LOOK = `${readFileSync('test/support/console/find-layout-mistakes.js', 'utf8')}findMistakes()`

test('no text overflows its box, and no word of data is broken into lines', { skip }, async (t) => {
  const { url, account, pages } = await openShop(t)
  const { page } = await openTab(t)
  await page.setViewportSize({ width: 1280, height: 900 }) // a narrow one hides the menu
  await signIn(page, url, account.account_key)
  const found: string[] = []
  for (const width of [1280, 390]) {
    await page.setViewportSize({ width, height: 900 })
    for (const [name, { link, title, ready }] of Object.entries(pages)) {
      await page.evaluate(`location.hash = ${JSON.stringify(link)}`)
      await page.getByRole('heading', { level: 1, name: title, exact: true }).waitFor()
      await page.getByText(ready).first().waitFor({ state: 'attached' })
      await page.locator('.loading').waitFor({ state: 'detached' })
      const mistakes = (await page.evaluate(LOOK)) as string[]
      found.push(...mistakes.map((mistake) => `${name} ${width}: ${mistake}`))
    }
  }
  assert.deepEqual(found, [])
})
