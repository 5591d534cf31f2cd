// run: early
import assert from 'node:assert/strict'
import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { assertNoComplaints, goTo, openTab, signIn, skip } from '../support/console/browser.ts'
import { openShop } from '../support/console/shop.ts'

/** The folder for screenshots of all pages; none are taken without it. */
const folder = process.env.TILLKIT_SCREENSHOTS

const AXE = readFileSync('test/node_modules/axe-core/axe.min.js', 'utf8')

test('axe reports nothing on any page, no request fails, and narrow rows have two lines', {
  skip,
}, async (t) => {
  const { url, account, pages } = await openShop(t)
  for (const colorScheme of ['light', 'dark'] as const) {
    const { page, complaints, failures } = await openTab(t, { colorScheme })
    await page.goto(`${url}/console`)
    await page.getByLabel('Account key').waitFor()
    await assertAccessible(page, colorScheme, 'sign-in')
    await page.setViewportSize({ width: 1280, height: 900 }) // a narrow one hides the menu
    await signIn(page, url, account.account_key)
    for (const [name, { link, title, file, ready }] of Object.entries(pages)) {
      await goTo(page, link, title)
      if (file) await page.locator('input[type=file]').setInputFiles(file)
      await page.getByText(ready).first().waitFor({ state: 'attached' })
      await assertAccessible(page, colorScheme, name)
    }
    assertNoComplaints(complaints)
    // The checks of files with unknown SKUs, and of unknown formats.
    assert.deepEqual(
      failures.filter((failure) => !/^400 .*imports$/.test(failure)),
      [],
    )
  }
})

/** The height of a row with two lines and its padding, in pixels. */
const TWO_LINES = 66

/** axe looks at one width in each colour scheme, because it takes a quarter of a second. */
const WIDTH = { light: 1280, dark: 390 }

const LOOK = `axe.run(document, { preload: false }).then(({ violations }) => ({
  violations: violations.map(({ id, nodes }) => id + ': ' + nodes[0]?.html),
  overflow: Math.max(0, document.documentElement.scrollWidth - innerWidth),
  tallRows: [...document.querySelectorAll('tbody tr')]
    .filter((row) => !row.querySelector('.sentence, select'))
    .map((row) => row.clientHeight)
    .filter((height) => innerWidth <= 640 && height > ${TWO_LINES}),
}))`

async function assertAccessible(page: Page, scheme: 'light' | 'dark', name: string): Promise<void> {
  if (!(await page.evaluate(() => 'axe' in globalThis))) await page.evaluate(AXE)
  for (const width of [390, 1280]) {
    const isTested = width === WIDTH[scheme]
    if (!isTested && !folder) continue
    await page.setViewportSize({ width, height: 900 })
    if (folder) await screenshot(page, `${name}-${width}-${scheme}`)
    if (!isTested) continue
    const expected = { violations: [], overflow: 0, tallRows: [] }
    assert.deepEqual(await page.evaluate(LOOK), expected, `${name} ${width} ${scheme}`)
  }
}

async function screenshot(page: Page, name: string): Promise<void> {
  mkdirSync(folder as string, { recursive: true })
  await page.screenshot({ path: join(folder as string, `${name}.png`), fullPage: true })
}
