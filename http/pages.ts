import { existsSync, readFileSync } from 'node:fs'
import { noBody } from './body.ts'
import { anyone } from './credentials.ts'
import type { ResponseHeaders } from './problems.ts'
import { Representation } from './representation.ts'
import { type AnyRoute, route } from './route.ts'

type Files = { readonly [name: string]: string }

/** The Content-Security-Policy allows only this origin. It blocks inline scripts and styles. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

/** Creates the routes of the browser console. Throws a TypeError when its files are missing. */
export function createConsoleRoutes(): AnyRoute[] {
  const names = ['index.html', 'main.js', 'main.css', 'icon.svg']
  const { 'index.html': html = '', ...files } = readFiles('console', names)
  const headers = {
    'content-security-policy': `${POLICY}; img-src 'self'; require-trusted-types-for 'script'`,
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-resource-policy': 'same-origin',
    'referrer-policy': 'no-referrer',
  }
  // The links in the page are relative, so the console also works below a mount path like `/shop`.
  // For the path `/console`, a browser resolves links against `/`, so this adds the prefix
  // `console/`. For `/console/`, the links need no prefix.
  const page = html.replaceAll('="./', '="console/')
  return [
    ...pageRoutes('/console', page, files, headers),
    ...pageRoutes('/console/', html, {}, headers),
  ]
}

/** Creates the routes of the reference page. Throws a TypeError when its files are missing. */
export function createReferenceRoutes(): AnyRoute[] {
  const own = readFiles('reference', ['swagger-ui-bundle.js', 'swagger-ui.css'])
  const files = { 'start.js': START, ...own }
  // Swagger UI embeds its icons as `data:` URLs.
  const policy = `${POLICY}; img-src 'self' data:`
  return pageRoutes('/docs', PAGE, files, { 'content-security-policy': policy })
}

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

const TYPES: { readonly [extension: string]: string } = {
  js: 'text/javascript',
  css: 'text/css',
  svg: 'image/svg+xml',
}

/** The routes of a page and of the files below it. */
function pageRoutes(
  path: string,
  html: string,
  files: Files,
  headers: ResponseHeaders,
): AnyRoute[] {
  const summary = 'Return a page or a file of it'
  const routeOf = (path: string, text: string, type = 'text/html') => {
    const all = { 'content-type': `${type}; charset=utf-8`, ...headers }
    const answer = { body: new Representation(text), headers: all }
    const description = { id: `GET ${path}`, summary, answer: 'Text' as const }
    return route('GET', path, anyone, noBody, async () => answer, description)
  }
  const fileRoutes = Object.entries(files).map(([name, text]) =>
    routeOf(`${path}/${name}`, text, TYPES[name.split('.').at(-1) ?? '']),
  )
  return [routeOf(path, html), ...fileRoutes]
}

/** Reads files that the build puts into a directory next to `http`. */
function readFiles(folder: string, names: readonly string[]): Files {
  const { url } = import.meta // undefined in a CommonJS bundle
  const urlOf = (name: string) => new URL(`../${folder}/${name}`, url)
  if (url === undefined || !names.every((name) => existsSync(urlOf(name)))) {
    const option = folder === 'console' ? folder : 'docs'
    throw new TypeError(
      `the option ${option} needs files of the package that are missing in a bundle: leave tillkit out of it`,
    )
  }
  const texts = names.map((name) => [name, readFileSync(urlOf(name), 'utf8')])
  return Object.fromEntries(texts)
}
