import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { noBody } from './body.ts'
import type { Call, Result } from './call.ts'
import { anyone } from './credentials.ts'
import { TransportFault } from './problems.ts'
import { Representation } from './representation.ts'
import { route } from './routes.ts'

/**
 * The routes of the reference page, which are served only when the page is enabled. Throws a
 * TypeError when its files are missing.
 */
export function createReferenceRoutes() {
  if (hasAssets()) return referenceRoutes
  throw new TypeError(
    'the option docs needs files of the package that are missing in a bundle: leave tillkit out of it',
  )
}

const referenceRoutes = [
  route('GET', '/docs', anyone, noBody, page, {
    id: 'getReference',
    summary: 'Return the reference page',
    answer: 'Text',
  }),
  route('GET', '/docs/:file', anyone, noBody, asset, {
    id: 'getReferenceFile',
    summary: 'Return a script or a style sheet of the reference page',
    answer: 'Text',
  }),
]

// The links are relative, so the page also works where the API is mounted under a prefix.
const PAGE = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>tillkit API</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="docs/swagger-ui.css">
<main id="reference"></main>
<script src="docs/swagger-ui-bundle.js"></script>
<script src="docs/start.js"></script>
</html>
`
const START = `SwaggerUIBundle({ url: 'openapi.json', dom_id: '#reference', deepLinking: true })\n`

/**
 * The scripts and style sheets, by file name. The build copies the files of Swagger UI to
 * `reference`, next to `http`.
 */
const ASSETS = new Map([
  ['start.js', { type: 'text/javascript', read: async () => START }],
  [
    'swagger-ui-bundle.js',
    { type: 'text/javascript', read: () => readAsset('swagger-ui-bundle.js') },
  ],
  ['swagger-ui.css', { type: 'text/css', read: () => readAsset('swagger-ui.css') }],
])

/** The Content-Security-Policy of the page. Swagger UI embeds its icons as `data:` URLs. */
const POLICY = [
  "default-src 'none'",
  ...["script-src 'self'", "style-src 'self'", "img-src 'self' data:", "connect-src 'self'"],
  ...["base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"],
].join('; ')

const loaded = new Map<string, Promise<Representation>>()

/** `GET /docs` */
async function page(): Promise<Result> {
  return answer('text/html', await represent('', async () => PAGE))
}

/** `GET /docs/{file}` */
async function asset({ params: { file = '' } }: Call<undefined, undefined>): Promise<Result> {
  const found = ASSETS.get(file)
  if (!found) throw new TransportFault('route_not_found', 'The reference page has no such file')
  return answer(found.type, await represent(file, found.read))
}

function answer(type: string, body: Representation): Result {
  const headers = { 'content-type': `${type}; charset=utf-8`, 'content-security-policy': POLICY }
  return { body, headers }
}

/** Calls `read` once, and caches the result. After an error, the next request calls it again. */
function represent(name: string, read: () => Promise<string>): Promise<Representation> {
  const known = loaded.get(name)
  if (known) return known
  const reading = read().then((text) => new Representation(text))
  loaded.set(name, reading)
  reading.catch(() => loaded.delete(name))
  return reading
}

function hasAssets(): boolean {
  const { url } = import.meta // `url` is undefined in a CommonJS bundle
  return url !== undefined && existsSync(assetUrl('swagger-ui-bundle.js'))
}

function readAsset(name: string): Promise<string> {
  return readFile(assetUrl(name), 'utf8')
}

function assetUrl(name: string): URL {
  return new URL(`../reference/${name}`, import.meta.url)
}
