import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
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

describe('a new webhook_url', () => {
  test('is an http or https URL', () => {
    accepts(webhookUrl, ['http://a', 'https://example.com/hook?x=1', 'HTTPS://EXAMPLE.COM'])
    accepts(webhookUrl, ['https://bücher.example/грн', "https://a/it's"])
    refuses(webhookUrl, ['', '/hook', 'example.com', 'ftp://a', 'javascript:alert(1)', 'https://'])
    refuses(webhookUrl, [7, null, 'https://a/\ud800', 'https://a/\0'])
  })

  test('has no credentials, which can look like the host', () => {
    refuses(webhookUrl, ['https://shop.example@evil.example/', 'https://a:b@evil.example/'])
    refuses(webhookUrl, ['https://:b@evil.example/', 'https:shop.example@evil.example'])
  })

  test('has no backslash, which URL parsers read as a slash', () => {
    refuses(webhookUrl, ['https://evil.example\\@shop.example/', 'https:\\\\evil.example'])
  })

  test('has no character that URL parsers remove or that changes the terminal', () => {
    refuses(webhookUrl, ['https://shop.exam\nple/', ' https://a', 'https://a/ ', 'https://a/\tb'])
    refuses(webhookUrl, ['https://a/\u001b[2J', 'https://a/\u009b2J', 'https://a/\u202egpj.exe'])
  })
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

describe('a webhook_secret', () => {
  test('is text of 1 to 1,024 characters', () => {
    accepts(webhookSecret, ['x', 'a secret\n', 'WHSEC_', 'whsec', 'whs_1', 'x'.repeat(1024)])
    refuses(webhookSecret, ['', 'x'.repeat(1025), 7, null, '\0'])
  })

  test('that begins with whsec_ has base64 after it, which libraries can decode', () => {
    accepts(webhookSecret, ['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', 'whsec_YQ==', 'whsec_+/8='])
    refuses(webhookSecret, ['whsec_', 'whsec_YQ', 'whsec_YQ=', 'whsec_-_8=', 'whsec_YWJj\n'])
    refuses(webhookSecret, [' whsec_YWJj', 'whsec_YW Jj', 'whsec_YWJjZ', 'whsec_YQ==YQ=='])
  })
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
