import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { after, type TestContext } from 'node:test'
import { pathToFileURL } from 'node:url'
import {
  type Browser,
  type BrowserContextOptions,
  chromium,
  type Locator,
  type Page,
} from 'playwright-core'
import type { ServeOptions } from '../../../http/index.ts'
import { temporaryFolder } from '../folder.ts'

const CHROMIUM = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome']
const executablePath = CHROMIUM.find(existsSync)
export const skip = executablePath === undefined && 'Chromium is not installed'

/** Serves the built console on a SQLite file, and sends webhooks. */
export async function serveConsole(t: TestContext, options: ServeOptions = {}) {
  const load = (path: string) => import(pathToFileURL(resolve(path)).href)
  const lib: typeof import('../../../lib/index.ts') = await load('dist/lib/index.js')
  const http: typeof import('../../../http/index.ts') = await load('dist/http/index.js')
  const storage = await lib.openSqliteStorage(join(temporaryFolder(t), 'till.db'))
  const till = lib.createTill({ storage })
  const account = await till.accounts.create({ name: 'Ember Studio' })
  const webhooks = http.startWebhooks(till, { allowPrivate: true })
  const limits = { stopIdleTimeout: 10 }
  const server = await http.serve(till, { port: 0, console: true, limits, ...options })
  t.after(async () => {
    await Promise.all([server.stop(), webhooks.close()])
    await till.close()
  })
  return { till, account, url: server.url }
}

export type ConsoleServer = Awaited<ReturnType<typeof serveConsole>>

let browser: Promise<Browser> | undefined
after(async () => (await browser)?.close())

/** A tab, with what its console and the policy of the page have reported. */
export async function openTab(t: TestContext, options: BrowserContextOptions = {}) {
  browser ??= chromium.launch({
    executablePath: executablePath as string,
    args: ['--no-sandbox', '--disable-dev-shm-usage'],
    timeout: 120_000,
  })
  const context = await (await browser).newContext({
    ...{ locale: 'en-US', timezoneId: 'Europe/Berlin', acceptDownloads: true },
    ...options,
  })
  t.after(() => context.close())
  const page = await context.newPage()
  page.setDefaultTimeout(120_000) // only bounds a failure: a busy machine takes long
  const complaints: string[] = []
  const failures: string[] = []
  page.on('response', (response) => {
    if (response.status() >= 400) failures.push(`${response.status()} ${response.url()}`)
  })
  page.on('console', (message) => void complaints.push(message.text()))
  page.on('pageerror', (error) => void complaints.push(error.message))
  return { page, complaints, failures }
}

/** The gestures of a person who uses only the mouse, or only the keyboard. */
export function personAt(page: Page, by: 'mouse' | 'keyboard') {
  const isFocused = async (target: Locator) =>
    (await target.and(page.locator(':focus')).count()) > 0
  /** Presses Tab until the control has the focus. */
  const reach = async (target: Locator) => {
    await target.waitFor()
    for (let step = 0; !(await isFocused(target)); step++) {
      assert.ok(step < 300, 'the keyboard does not reach the control')
      await page.keyboard.press('Tab')
    }
  }
  const use = async (target: Locator) => {
    if (by === 'mouse') return target.click()
    await reach(target)
    await page.keyboard.press('Enter')
  }
  return {
    use,
    press: (name: string) => use(page.getByRole('button', { name, exact: true })),
    /** Opens the menu with the rare actions of the page, or of a row, and presses one. */
    async pressMore(name: string, place: Page | Locator = page) {
      await use(place.getByLabel('More actions'))
      await use(place.getByRole('button', { name, exact: true }))
    },
    follow: (name: string) => use(page.getByRole('link', { name, exact: true })),
    async fill(label: string, text: string) {
      const field = page.getByLabel(label, { exact: true })
      if (by === 'mouse') return field.fill(text)
      await reach(field)
      await page.keyboard.press('Control+A')
      await page.keyboard.press('Delete')
      await page.keyboard.type(text)
    },
  }
}

/** Signs in by hand, as a person does. */
export async function signIn(page: Page, url: string, key: string): Promise<void> {
  await page.goto(`${url}/console`)
  await page.getByLabel('Account key').fill(key)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('navigation', { name: 'Pages' }).waitFor({ state: 'attached' })
}

/** Drops a file on an element of the page, as a person does from a folder. */
export function drop(page: Page, text: string, selector = 'main'): Promise<void> {
  return page.evaluate(`(${DROP})(${JSON.stringify([text, selector])})`)
}

const DROP = `([text, selector]) => {
  const dataTransfer = new DataTransfer()
  dataTransfer.items.add(new File([text], 'dropped.csv'))
  for (const type of ['dragover', 'drop']) {
    const event = new DragEvent(type, { dataTransfer, bubbles: true, cancelable: true })
    const isLeft = document.querySelector(selector).dispatchEvent(event)
    if (isLeft) throw new Error('the browser would open the file in place of the page')
  }
}`

/** Goes to a page of the console, and waits for its title. */
export async function goTo(page: Page, link: string, title: string | RegExp): Promise<void> {
  await page.evaluate(`location.hash = ${JSON.stringify(link)}`)
  await page.getByRole('heading', { level: 1, name: title, exact: true }).waitFor()
}

/** The browser logs each answer with an error status. It is no complaint of the page. */
export function assertNoComplaints(complaints: readonly string[]): void {
  assert.deepEqual(
    complaints.filter((text) => !/^Failed to load resource/.test(text)),
    [],
  )
}
