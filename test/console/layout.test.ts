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
    for (const [name, { link, title, file, ready }] of Object.entries(pages)) {
      await page.evaluate(`location.hash = ${JSON.stringify(link)}`)
      await page.getByRole('heading', { level: 1, name: title, exact: true }).waitFor()
      if (file) await page.locator('input[type=file]').setInputFiles(file)
      await page.getByText(ready).first().waitFor({ state: 'attached' })
      await page.locator('.loading').waitFor({ state: 'detached' })
      const mistakes = (await page.evaluate(LOOK)) as string[]
      found.push(...mistakes.map((mistake) => `${name} ${width}: ${mistake}`))
    }
  }
  assert.deepEqual(found, [])
})

test('on a phone, a key has its scopes, and a label before the day of its latest use', {
  skip,
}, async (t) => {
  const { url, account } = await openShop(t)
  const { page } = await openTab(t)
  await signIn(page, url, account.account_key)
  await page.setViewportSize({ width: 390, height: 900 })
  await page.evaluate(`location.hash = '#/keys'`)
  await page.getByText('this tab').waitFor()
  const labels = await page.evaluate(`
    [...document.querySelectorAll('tbody tr:first-child td')]
      .filter((cell) => cell.checkVisibility() && getComputedStyle(cell, '::before').content !== 'none')
      .map((cell) => cell.dataset.label)`)
  assert.deepEqual(labels, ['Scopes', 'Last use (UTC)'])
})

test('an id that cuts itself, but is wider than its cell, overlaps the amount beside it', {
  skip,
}, async (t) => {
  const { page } = await openTab(t)
  const id = 'com.example.demo.bundle.starter'
  const cut = 'display: block; width: 200px; overflow: hidden; text-overflow: ellipsis'
  for (const [width, mistakes] of [
    [240, []],
    [80, [`overlapping: ${id} and $4.99`]],
  ] as const) {
    const cell = `<div style="flex: none; width: ${width}px"><span style="${cut}" title="${id}">${id}</span></div>`
    await page.setContent(`<div style="display: flex">${cell}<span>$4.99</span></div>`)
    assert.deepEqual(await page.evaluate(LOOK), mistakes)
  }
})

test('prices are typed as they are shown, and dates are in the Gregorian calendar', {
  skip,
}, async (t) => {
  const { till, url, account, pages } = await openShop(t)
  const [, id = ''] = /items\/(.*)/.exec(pages.item?.link ?? '') ?? []
  const typed = { 'de-DE': ['5,99', '1.234,50'], 'ar-SA': ['١٢٣٤٫٥٠', '٧٫٢٥'] }
  const stored = { 'de-DE': 123_450, 'ar-SA': 725 }
  for (const locale of ['de-DE', 'ar-SA'] as const) {
    const { page } = await openTab(t, { locale })
    await signIn(page, url, account.account_key)
    await page.evaluate(`location.hash = '#/items/${id}'`)
    const field = page.getByLabel('Price in USD')
    await field.waitFor()
    const [shown, next] = typed[locale]
    assert.equal(await field.inputValue(), shown)
    await field.fill(next as string)
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Saved as version').waitFor()
    assert.equal((await till.items.get(account, id)).price, stored[locale])
    const year = new Date().getFullYear() - 1
    await page.evaluate(`location.hash = '#/overview?store=demo&range=months'`)
    await page
      .getByText(year.toLocaleString(locale, { useGrouping: false }))
      .first()
      .waitFor()
  }
})
