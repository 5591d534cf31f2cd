// Formats the OpenAPI document as docs/api.md.
import { code, link, table } from './markdown.mjs'

/** The page for a document of `createOpenApi`. */
export function formatApiPage({ info, paths, components }) {
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      title: `${method.toUpperCase()} ${path}`,
      ...operation,
    })),
  )
  const credentialOf = ({ security }) => {
    const [[scheme, scopes] = []] = security.map((each) => Object.entries(each)[0])
    if (!scheme) return ''
    return [components.securitySchemes[scheme].name ?? 'bearer token', ...scopes.map(code)].join(
      ', ',
    )
  }
  const sections = [
    '# API reference',
    'This page is generated from the [OpenAPI document](library.md#http) by `npm run docs`.\n' +
      '[specification.md](specification.md) explains the API, and\n' +
      '[library.md](library.md#types) the fields of the management API.',
    info.description,
    'Every request may have an `X-Request-Id`, and every answer has one. `RateLimit` and\n' +
      '`RateLimit-Policy` are in each answer if the operator has set rate limits.',
    'Contents: [Endpoints](#endpoints), [Schemas](#schemas), [Response headers](#response-headers),\n' +
      '[Error codes](#error-codes).',
    '## Endpoints',
    table(
      ['endpoint', 'credential', 'does'],
      operations.map((each) => [link(each.title), credentialOf(each), each.summary]),
    ),
    ...operations.flatMap((each) => operationSections(each, components)),
    '## Schemas',
    ...Object.entries(components.schemas).flatMap(schemaSections),
    '## Response headers',
    table(
      ['header', 'meaning'],
      Object.entries(components.headers).map(([name, each]) => [code(name), each.description]),
    ),
    '## Error codes',
    table(
      ['status', 'code', 'title'],
      Object.entries(components.examples)
        .map(([name, { value }]) => [value.status, code(name), value.title])
        .sort(([a], [b]) => a - b),
    ),
  ]
  return `${sections.filter(Boolean).join('\n\n')}\n`
}

function operationSections(operation, components) {
  const { title, summary, description, operationId, requestBody, responses } = operation
  const parameters = operation.parameters.map((each) => resolve(each, components)).filter(isSpecial)
  const [type, body] = Object.entries(requestBody?.content ?? {})[0] ?? []
  return [
    `### ${title}`,
    `${summary} (\`${operationId}\`).${description ? ` ${description}` : ''}`,
    parameters.length > 0 && table(['parameter', 'in', '', 'rule'], parameters.map(parameterRow)),
    body && `Body: ${typeOf(body.schema)} as \`${type}\`.`,
    body && exampleOf(body),
    table(
      ['status', 'body', 'headers'],
      Object.entries(responses).map(([status, each]) =>
        responseRow(status, resolve(each, components)),
      ),
    ),
    exampleOf(Object.values(responses[200].content)[0]),
  ]
}

function parameterRow({ name, in: place, required, schema, description }) {
  return [code(name), place, required ? 'required' : '', sentence(ruleOf(schema), description)]
}

function responseRow(status, { content = {}, headers }) {
  const [media] = Object.values(content)
  const codes = media?.schema.allOf?.[1].properties.code.enum
  const body = codes ? codes.map(code).join(', ') : media ? typeOf(media.schema) : ''
  const special = Object.keys(headers).filter((name) => isSpecial({ name }))
  return [status, body, special.map(code).join(', ')]
}

/** Whether a header is missing from the introduction of the page. */
function isSpecial({ name }) {
  return !['X-Request-Id', 'RateLimit', 'RateLimit-Policy'].includes(name)
}

function exampleOf({ example }) {
  if (example === undefined) return undefined
  return `\`\`\`json\n${JSON.stringify(example, null, 2)}\n\`\`\``
}

function schemaSections([name, schema]) {
  const { description, oneOf } = schema
  const rows = fieldRows(schema, '')
  return [
    `### ${name}`,
    oneOf && `One of ${oneOf.map(typeOf).join(', ')}.`,
    description,
    rows.length > 0 && table(['field', 'type', '', 'rule'], rows),
    !oneOf && rows.length === 0 && !description && `A ${typeOf(schema)}.`,
  ]
}

/** One row per field, including those of nested objects. */
function fieldRows({ properties = {}, required = [] }, path) {
  return Object.entries(properties).flatMap(([name, schema]) => {
    const presence = required.includes(name) ? 'required' : ''
    const rule = sentence(ruleOf(schema), schema.description, defaultOf(schema))
    const nested = schema.type === 'array' ? schema.items : schema
    const at = `${path}${name}`
    const within = fieldRows(nested, schema.type === 'array' ? `${at}[].` : `${at}.`)
    return [[code(at), typeOf(schema), presence, rule], ...within]
  })
}

function typeOf({ $ref, type, const: value, items }) {
  if ($ref) return link($ref.split('/').at(-1))
  if (value !== undefined) return code(JSON.stringify(value))
  if (type === 'array') return `array of ${typeOf(items)}`
  return [type].flat().join(' or ')
}

/** Descriptions of the patterns that occur in the document. */
const PATTERNS = {
  '^[^\\u0000]*$': '',
  '^[^\\u0000-\\u001f\\u007f-\\u009f]*$': 'no control characters',
}

function ruleOf(schema) {
  const {
    enum: values,
    pattern,
    minLength = 0,
    maxLength,
    minimum,
    maximum,
    items,
    maxItems,
  } = schema
  const range =
    maximum === Number.MAX_SAFE_INTEGER ? `${minimum} to 2^53−1` : `${minimum} to ${maximum}`
  return [
    values?.map(code).join(', '),
    maxLength && `${minLength > 0 ? `${minLength} to` : 'up to'} ${maxLength} characters`,
    pattern && (PATTERNS[pattern] ?? code(pattern)),
    schema.format === 'date-time' && 'ISO 8601, UTC',
    maximum !== undefined && range,
    maxItems && `up to ${maxItems} entries`,
    items && !items.properties && ruleOf(items),
  ]
    .filter(Boolean)
    .join('; ')
}

function defaultOf({ default: value }) {
  return value === undefined ? undefined : `Default: ${code(JSON.stringify(value))}`
}

function sentence(...parts) {
  return parts.filter(Boolean).join('. ').replaceAll('..', '.')
}

function resolve(value, components) {
  if (!value.$ref) return value
  const [kind, name] = value.$ref.split('/').slice(-2)
  return components[kind][name]
}
