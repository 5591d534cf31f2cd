// Empties dist, so that renamed files leave no stale output, and compiles into it. With `--noCheck` it
// does not check types, which takes half of its time. Writes the version and the OpenAPI document, and
// copies the files of the reference page. Bundles the CLI, because a few chunks start in two thirds of
// the time of a hundred modules (bench/small), and as CommonJS in three quarters of that. Bundles each
// client into one file, which browsers load without a bundler. Bundles the browser console.
import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { build, transform } from 'esbuild'

rmSync('dist', { recursive: true, force: true })
const tsc = 'node_modules/typescript/bin/tsc'
const { status } = spawnSync(
  process.execPath,
  [tsc, '-p', 'tsconfig.build.json', ...process.argv.slice(2)],
  {
    stdio: 'inherit',
  },
)
if (status !== 0) process.exit(status ?? 1)

// In a bundle there is no package.json to read.
const { version } = JSON.parse(readFileSync('package.json', 'utf8'))
writeFileSync(
  'dist/http/version.js',
  `export const readVersion = () => ${JSON.stringify(version)}\n`,
)

const { createOpenApi } = await import('../dist/http/index.js')
writeFileSync('dist/openapi.json', JSON.stringify(createOpenApi(), null, 2))

// The renderer of the reference page, with its licences.
mkdirSync('dist/reference')
const script = 'swagger-ui-bundle.js'
for (const file of [script, `${script}.LICENSE.txt`, 'swagger-ui.css', 'LICENSE', 'NOTICE']) {
  copyFileSync(`node_modules/swagger-ui-dist/${file}`, `dist/reference/${file}`)
}

// esbuild puts all that `lib/index.ts` imports into one chunk. In the bundle, the CLI therefore imports
// from the files that `lib/index.ts` names.
const index = readFileSync('lib/index.ts', 'utf8')
const namesIn = (list) => list.split(',').flatMap((each) => each.trim() || [])
const fileOf = new Map(
  [...index.matchAll(/^export \{([^}]+)\} from '\.\/(.+)'$/gm)].flatMap(([, list, file]) =>
    namesIn(list).map((name) => [name, file]),
  ),
)
const directImports = {
  name: 'direct-imports',
  setup: (bundle) =>
    bundle.onLoad({ filter: /[\\/]cli[\\/].+\.ts$/ }, ({ path }) => ({
      loader: 'ts',
      contents: readFileSync(path, 'utf8').replace(
        /^(import|export) \{([^}]+)\} from '([./]+\/lib\/)index\.ts'$/gm,
        (_, kind, list, lib) =>
          namesIn(list)
            .filter((name) => !name.startsWith('type '))
            .map((name) => `${kind} { ${name} } from '${lib}${fileOf.get(name)}'`)
            .join('\n'),
      ),
    })),
}

const IMPORT_META = 'const importMeta = { url: require("node:url").pathToFileURL(__filename).href }'

// `webhook-thread` and `reader` are started in threads, from files beside the bundle. The benchmarks
// and the pictures of the console import `demo` and `demo-shop`.
const { outputFiles } = await build({
  entryPoints: {
    main: 'cli/main.ts',
    demo: 'cli/serve/demo.ts',
    'demo-shop': 'cli/serve/demo-shop.ts',
    'webhook-thread': 'cli/serve/webhook-thread.ts',
    reader: 'lib/storage/sqlite/reader.ts',
  },
  outdir: 'dist/cli',
  bundle: true,
  splitting: true, // a command loads only its own chunks
  plugins: [directImports],
  chunkNames: 'chunk-[hash]',
  platform: 'node',
  format: 'esm',
  external: ['better-sqlite3', 'postgres'],
  logLevel: 'warning',
  write: false,
})
// esbuild makes chunks only of ES modules.
mkdirSync('dist/cli')
for (const { path, text } of outputFiles) {
  const { code } = await transform(text, {
    format: 'cjs',
    platform: 'node',
    supported: { 'dynamic-import': false },
    define: { 'import.meta': 'importMeta' },
    banner: text.includes('import.meta') ? IMPORT_META : '',
  })
  // Without a copy of each chunk's exports, a command starts 3 ms earlier.
  writeFileSync(path, code.replace('__toCommonJS(stdin_exports)', 'stdin_exports'))
}
writeFileSync('dist/cli/package.json', '{ "type": "commonjs" }\n')
chmodSync('dist/cli/main.js', 0o755)

// Browsers need no texts and schemas of the OpenAPI document.
const { operations } = await import('../dist/lib/operations.js')
const rows = operations.map(({ id, answer, summary, description, errors, cli, ...row }) => row)
const shortOperations = {
  name: 'short-operations',
  setup: (bundle) =>
    bundle.onLoad({ filter: /lib[\\/]operations\.[jt]s$/ }, () => ({
      contents: `export const operations = ${JSON.stringify(rows)}`,
    })),
}

const clients = ['index.js', 'manage.js']
await build({
  entryPoints: clients.map((name) => `dist/client/${name}`),
  outdir: 'dist/client',
  allowOverwrite: true,
  bundle: true,
  minify: true,
  platform: 'neutral',
  format: 'esm',
  target: 'es2022',
  plugins: [shortOperations],
  logLevel: 'warning',
})
for (const name of readdirSync('dist/client')) {
  if (name.endsWith('.js') && !clients.includes(name)) rmSync(`dist/client/${name}`)
}

// The browser console. Its styles may not be in the page, so they are a file too.
await build({
  entryPoints: ['console/main.tsx', 'console/main.css'],
  outdir: 'dist/console',
  bundle: true,
  minify: true,
  platform: 'browser',
  format: 'iife',
  target: ['chrome123', 'firefox120', 'safari17.5'], // the first with `light-dark()`
  tsconfig: 'console/tsconfig.json',
  plugins: [shortOperations],
  logLevel: 'warning',
})
for (const file of ['index.html', 'icon.svg'])
  copyFileSync(`console/${file}`, `dist/console/${file}`)
const licenses = ['preact'].map((name) => {
  const text = readFileSync(`node_modules/${name}/LICENSE`, 'utf8')
  return `${name}\n\n${text.trim()}\n`
})
writeFileSync('dist/console/LICENSES.txt', licenses.join('\n'))
