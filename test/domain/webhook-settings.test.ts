import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Rule } from '../../lib/domain/fields.ts'
import {
  replaceConfig,
  showWebhookUrl,
  webhookSecret,
  webhookUrl,
} from '../../lib/domain/webhook-settings.ts'
import type { ErrorDetail } from '../../lib/errors.ts'
import { problemsOf } from './problems.ts'

function accepts(rule: Rule<unknown>, values: readonly unknown[]): void {
  for (const value of values) assert.deepEqual(codesOf(rule, value), [], String(value))
}

function refuses(rule: Rule<unknown>, values: readonly unknown[]): void {
  for (const value of values) assert.deepEqual(codesOf(rule, value), ['invalid'], String(value))
}

function codesOf(rule: Rule<unknown>, value: unknown): string[] {
  const found: ErrorDetail[] = []
  rule(value, 'f', found)
  return found.map(({ code }) => code)
}

test('a new webhook_url is an http or https URL that no parser or terminal reads otherwise', () => {
  accepts(webhookUrl, [
    ...['http://a', 'https://example.com/hook?x=1', 'HTTPS://EXAMPLE.COM'],
    ...['https://bücher.example/грн', "https://a/it's"],
  ])
  refuses(webhookUrl, [
    ...['', '/hook', 'example.com', 'ftp://a', 'javascript:alert(1)', 'https://'],
    ...[7, null, 'https://a/\ud800', 'https://a/\0'],
    // Credentials can look like the host.
    ...['https://shop.example@evil.example/', 'https://a:b@evil.example/'],
    ...['https://:b@evil.example/', 'https:shop.example@evil.example'],
    // URL parsers read a backslash as a slash, and remove some characters.
    ...['https://evil.example\\@shop.example/', 'https:\\\\evil.example'],
    ...['https://shop.exam\nple/', ' https://a', 'https://a/ ', 'https://a/\tb'],
    ...['https://a/\u001b[2J', 'https://a/\u009b2J', 'https://a/\u202egpj.exe'],
  ])
})

test('a shown URL is ASCII, with the punycode of letters that look like Latin ones', () => {
  for (const [url, shown] of [
    ['https://shоp.example/hook', 'https://xn--shp-ted.example/hook'],
    ['https://evil.example\\@shop.example/', 'https://evil.example/@shop.example/'],
    ['HTTPS://Shop.Example/\u202eß\n', 'https://shop.example/%E2%80%AE%C3%9F'],
    ['', ''],
  ] as const) {
    assert.equal(showWebhookUrl(url), shown)
  }
})

test('a webhook_secret is a text, and after whsec_ base64, which libraries can decode', () => {
  accepts(webhookSecret, [
    ...['x', 'a secret\n', 'WHSEC_', 'whsec', 'whs_1', 'x'.repeat(1024)],
    ...['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', 'whsec_YQ==', 'whsec_+/8='],
  ])
  refuses(webhookSecret, [
    ...['', 'x'.repeat(1025), 7, null, '\0'],
    ...['whsec_', 'whsec_YQ', 'whsec_YQ=', 'whsec_-_8=', 'whsec_YWJj\n'],
    ...[' whsec_YWJj', 'whsec_YW Jj', 'whsec_YWJjZ', 'whsec_YQ==YQ=='],
  ])
})

test('a webhook_url that was stored before its rule is kept, and the same is refused as a new one', () => {
  const webhook_url = 'https://user:word@shop.example/\u202e'
  const sent = { webhook_url, other: 1 }
  assert.deepEqual(replaceConfig('config', { webhook_url }, sent, []), sent)
  assert.deepEqual(
    problemsOf(() => replaceConfig('config', {}, sent, [])),
    ['config.webhook_url: invalid'],
  )
})
