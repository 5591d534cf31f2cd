import { existsSync, readFileSync } from 'node:fs'
import { noBody } from './body.ts'
import type { Call, Result } from './call.ts'
import { anyone } from './credentials.ts'
import { TransportFault } from './problems.ts'
import { Representation } from './representation.ts'
import { route } from './routes.ts'

/**
 * The files of the browser console. The build puts them into the directory `console`, next to
 * `http`.
 */
const FILES: readonly (readonly [name: string, type: string])[] = [
  ['main.js', 'text/javascript'],
  ['main.css', 'text/css'],
  ['icon.svg', 'image/svg+xml'],
]

/** The Content-Security-Policy allows only this origin. It blocks inline scripts and styles. */
const POLICY = [
  "default-src 'none'",
  ...["script-src 'self'", "style-src 'self'", "img-src 'self'", "connect-src 'self'"],
  ...["base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"],
  "require-trusted-types-for 'script'",
].join('; ')

const SECURITY = {
  'content-security-policy': POLICY,
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
}

/**
 * Creates the routes of the browser console. Reads all its files now, so that a request reads none.
 * Throws a TypeError when the files are missing.
 */
export function createConsoleRoutes() {
  if (!hasFiles()) throw new TypeError(MISSING)
  const html = readFile('index.html')
  // The links in the page are relative, so the console also works below a mount path like `/shop`.
  // For the path `/console`, a browser resolves links against `/`, so this adds the prefix
  // `console/`. For `/console/`, the links need no prefix.
  const page = answerOf('text/html', html.replaceAll('="./', '="console/'))
  const folder = answerOf('text/html', html)
  const files = new Map(FILES.map(([name, type]) => [name, answerOf(type, readFile(name))]))
  const findFile = async ({ params: { file = '' } }: Call<undefined, undefined>) => {
    const found = files.get(file)
    if (found) return found
    throw new TransportFault('route_not_found', 'The console has no such file')
  }
  return [
    route('GET', '/console', anyone, noBody, async () => page, {
      id: 'getConsole',
      summary: 'Return the page of the browser console',
      answer: 'Text',
    }),
    route('GET', '/console/', anyone, noBody, async () => folder, {
      id: 'getConsoleFolder',
      summary: 'Return the page of the browser console',
      answer: 'Text',
    }),
    route('GET', '/console/:file', anyone, noBody, findFile, {
      id: 'getConsoleFile',
      summary: 'Return a script or a style sheet of the browser console',
      answer: 'Text',
    }),
  ]
}

const MISSING =
  'the option console needs files of the package that are missing in a bundle: leave tillkit out of it'

function answerOf(type: string, text: string): Result {
  const body = new Representation(text)
  return { body, headers: { 'content-type': `${type}; charset=utf-8`, ...SECURITY } }
}

function hasFiles(): boolean {
  const { url } = import.meta // `url` is undefined in a CommonJS bundle
  return url !== undefined && existsSync(fileUrl('index.html'))
}

function readFile(name: string): string {
  return readFileSync(fileUrl(name), 'utf8')
}

function fileUrl(name: string): URL {
  return new URL(`../console/${name}`, import.meta.url)
}
