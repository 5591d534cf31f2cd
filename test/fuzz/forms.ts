import { fc } from '../support/seeds.ts'
import type { Body } from './bodies.ts'
import { purchaseFile } from './files.ts'

export interface Form extends Body {
  readonly contentType: string
}

interface Part {
  readonly head: string
  readonly bytes: string
}

const BOUNDARY = 'frontier'

const named = (name: string, bytes: string): Part => ({
  head: `Content-Disposition: form-data; name="${name}"`,
  bytes,
})

const fileNamed = (filename: string, bytes: string): Part => ({
  head: `Content-Disposition: form-data; name="file"; filename="${filename}"\r\nContent-Type: text/csv`,
  bytes,
})

const file = fc
  .tuple(fc.constantFrom('a.csv', '..\\..\\x', '/etc/passwd', '\xc3\xa9%22', ''), purchaseFile)
  .map(([filename, { bytes, expected }]) => ({ part: fileNamed(filename, bytes), expected }))

const store = fc.constant(named('store_id', 'main'))

/** The file and the store in any order, with harmless extra parts. */
const right = fc
  .tuple(file, store, fc.option(fc.constantFrom('true', 'false')), fc.boolean(), fc.boolean())
  .map(([{ part, expected }, store_id, dry_run, isFileFirst, withOther]): Form => {
    const parts = isFileFirst ? [part, store_id] : [store_id, part]
    if (dry_run !== null) parts.push(named('dry_run', dry_run))
    if (withOther) parts.unshift(named('__proto__', 'x'))
    return { ...formOf(parts), expected }
  })

const oddPart: fc.Arbitrary<Part> = fc.oneof(
  fc.constantFrom(
    named('dry_run', 'TRUE'),
    named('dryRun', 'true'),
    named('preset', '__proto__'),
    named('preset', 'stripe_payments'),
    named('store_id', 'other'),
    named('store_id', 'sibling'),
    named('store_id', 'nowhere'),
    named('store_id', '\0'),
    named('store_id', '\xff'),
    named('store_id', 'a'.repeat(4_097)),
    named('x'.repeat(70_000), ''),
    fileNamed('b.csv', 'x'),
    { head: 'Content-Disposition: form-data', bytes: '' },
    { head: 'Content-Disposition: attachment; name="file"', bytes: '' },
    { head: 'Content-Type: text/csv', bytes: '' },
    { head: ' folded: x', bytes: '' },
    { head: 'bad\0: x', bytes: '' },
    { head: '', bytes: `--${BOUNDARY}` },
  ),
  fc.tuple(fc.string({ maxLength: 9 }), fc.string({ maxLength: 9 })).map(([head, bytes]) => ({
    head: head.replaceAll(/[^ -~]/g, ''),
    bytes,
  })),
)

const odd = fc
  .tuple(file, fc.array(fc.oneof(store, oddPart), { maxLength: 4 }), fc.boolean())
  .map(([{ part }, parts, withFile]) => formOf(withFile ? [...parts, part] : parts))

const broken = fc
  .tuple(
    right,
    fc.constantFrom<(form: Form) => Partial<Form>>(
      ({ bytes }) => ({ bytes: bytes.slice(0, -4) }),
      ({ bytes }) => ({ bytes: bytes.slice(2) }),
      ({ bytes }) => ({ bytes: bytes.replaceAll('\r\n', '\n') }),
      ({ bytes }) => ({ bytes: `preamble\r\n${bytes}epilogue` }),
      () => ({ bytes: '' }),
      () => ({ bytes: `--${BOUNDARY}--\r\n` }),
      () => ({ contentType: 'multipart/form-data' }),
      () => ({ contentType: 'multipart/form-data; boundary=' }),
      () => ({ contentType: `multipart/form-data; boundary=${'x'.repeat(71)}` }),
      () => ({ contentType: 'multipart/form-data; boundary="a\\"; boundary=b' }),
      () => ({ contentType: 'multipart/mixed; boundary=frontier' }),
      () => ({ contentType: 'application/json' }),
    ),
  )
  .map(([form, breaking]): Form => ({ ...form, ...breaking(form), expected: undefined }))

const crowded = fc
  .constantFrom(19, 20, 21, 500)
  .map((count) => formOf(Array.from({ length: count }, (_, i) => named(`p${i}`, ''))))

/** Import forms: valid, unusual and broken. */
export const form: fc.Arbitrary<Form> = fc.oneof(
  { weight: 9, arbitrary: right },
  { weight: 3, arbitrary: odd },
  { weight: 3, arbitrary: broken },
  { weight: 1, arbitrary: crowded },
)

function formOf(parts: readonly Part[]): Form {
  const bodies = parts.map(({ head, bytes }) => `--${BOUNDARY}\r\n${head}\r\n\r\n${bytes}\r\n`)
  return {
    contentType: `multipart/form-data; boundary=${BOUNDARY}`,
    bytes: `${bodies.join('')}--${BOUNDARY}--\r\n`,
    expected: undefined,
  }
}
