import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { delimiter, join, resolve } from 'node:path'
import { type TestContext, test } from 'node:test'
import { temporaryFolder } from './support/folder.ts'

const author = { GIT_AUTHOR_NAME: 'A', GIT_AUTHOR_EMAIL: 'a@example.com' }
const committer = { GIT_COMMITTER_NAME: 'A', GIT_COMMITTER_EMAIL: 'a@example.com' }
const identity = { ...author, ...committer }

const files = {
  'package.json': JSON.stringify({
    name: 'sample',
    version: '1.2.0',
    repository: 'https://git.example/sample',
    scripts: { build: 'node -e 0' },
    files: [],
  }),
  'package-lock.json': '{"version":"1.2.0"}',
  'CHANGELOG.md': '# Changelog\n\n## [1.2.0] - 2026-11-22\n\n- More.\n',
  '.ci/run': 'echo checked >> ../calls\n',
}

/** A clone of a repository in which version 1.2.0 is ready, apart from these files. */
function createClone(t: TestContext, others: { readonly [file: string]: string } = {}) {
  const folder = temporaryFolder(t)
  const clone = join(folder, 'clone')
  const git = (...args: string[]) =>
    execFileSync('git', args, { cwd: clone, env: { ...process.env, ...identity }, stdio: 'pipe' })
  mkdirSync(join(clone, '.ci'), { recursive: true })
  git('init', '--quiet', '--bare', '../origin')
  git('init', '--quiet')
  git('remote', 'add', 'origin', '../origin')
  for (const [file, text] of Object.entries({ ...files, ...others })) {
    writeFileSync(join(clone, file), text)
  }
  git('add', '.')
  git('commit', '--quiet', '--message', 'Release 1.2.0')
  const calls = join(folder, 'calls')
  writeFileSync(calls, '')
  const bin = replaceNpm(folder)
  return {
    clone,
    git,
    /** The checks and the commands of npm, in their order. */
    calls: () => readFileSync(calls, 'utf8').trimEnd().split('\n'),
    tags: () => git('tag', '--list').toString().trim(),
    release: (...args: string[]) => runScript(clone, bin, args),
    packWithNpm: () => writeFileSync(join(folder, 'pack'), ''),
    failPublishing: () => writeFileSync(join(folder, 'refuse'), ''),
  }
}

/**
 * A program `npm` that only writes down its commands, and answers `pack` as npm does. npm itself
 * packs where `pack` exists: it takes a second.
 */
function replaceNpm(folder: string): string {
  const bin = join(folder, 'bin')
  mkdirSync(bin)
  const npm = execFileSync('sh', ['-c', 'command -v npm'], { encoding: 'utf8' }).trim()
  const script = `#!/bin/sh
if [ "$1" = pack ] && [ -e ../pack ]; then exec '${npm}' "$@"; fi
if [ "$1" = pack ]; then
  version=$(sed 's/.*"version":"\\([^"]*\\)".*/\\1/' package.json)
  echo "[{\\"filename\\":\\"sample-$version.tgz\\",\\"size\\":1}]"
  exit
fi
echo "$*" | sed 's|/.*/||' >> ../calls
[ "$1" != publish ] || [ ! -e ../refuse ]
`
  writeFileSync(join(bin, 'npm'), script, { mode: 0o755 })
  return bin
}

function runScript(cwd: string, bin: string, args: readonly string[]) {
  const PATH = `${bin}${delimiter}${process.env.PATH}`
  return spawnSync(process.execPath, [resolve('scripts/release.mjs'), ...args], {
    cwd,
    env: { ...process.env, ...identity, PATH },
    encoding: 'utf8',
  })
}

const CHECKED = ['checked', 'run --silent build']
const PUBLISHED = 'publish sample-1.2.0.tgz --tag latest'

test('a release is checked, published and tagged', (t) => {
  const { release, calls, tags, git, packWithNpm } = createClone(t)
  packWithNpm()

  const { status, stdout, stderr } = release()

  assert.equal(status, 0, stderr)
  assert.deepEqual(calls(), [...CHECKED, PUBLISHED])
  assert.equal(tags(), 'v1.2.0')
  assert.deepEqual(git('rev-parse', 'v1.2.0^{commit}'), git('rev-parse', 'HEAD'))
  assert.match(stdout, /sample-1\.2\.0\.tgz: \d+ bytes, \d+ unpacked, sha512-/)
  assert.match(stdout, /git push origin v1\.2\.0/)
})

test('everything that is not ready is named before the checks start', (t) => {
  const { release, calls, clone, git } = createClone(t, {
    'package.json': '{"name":"sample","version":"1.3.0"}',
    'CHANGELOG.md': '## [1.3.0] - unreleased\n\n- More.\n\n## [1.2.0] - 2026-11-22\n\n- More.\n',
  })
  git('tag', 'v1.3.0')
  writeFileSync(join(clone, 'new.txt'), '')

  for (const args of [[], ['--dry-run']]) {
    const { status, stderr } = release(...args)
    assert.equal(status, 1)
    assert.deepEqual(stderr.trim().split('\n- ').slice(1), [
      'The tree has changes without a commit:\n?? new.txt',
      'package-lock.json has the version 1.2.0',
      'CHANGELOG.md has no dated section for 1.3.0',
      'The tag v1.3.0 exists: is 1.3.0 released already?',
      'package.json has no repository: set the URL of the public repository',
    ])
  }
  assert.deepEqual(calls(), [''])
})

interface Case {
  readonly args?: string
  readonly code?: number
  readonly prints: RegExp
  readonly calls?: readonly string[]
  /** The script of the checks. */
  readonly check?: string
  readonly prepare?: (clone: ReturnType<typeof createClone>) => void
}

const UNTAGGED: { readonly [what: string]: Case } = {
  'a dry run': { args: '--dry-run', code: 0, prints: /2\.0\.tgz: \d+ bytes/, calls: CHECKED },
  'a misspelt --dry-run': { args: '--dryrun', code: 2, prints: /^Usage/ },
  'a run of failing checks': { check: 'exit 3', prints: /bash \.ci\/run failed/ },
  'a run of checks that change the tree': {
    ...{ check: 'echo >> CHANGELOG.md', prints: /changes without a commit/ },
  },
  'a run of checks during which HEAD moves': {
    ...{ check: 'git commit --quiet --allow-empty -m x', prints: /HEAD has moved/ },
  },
  'a publication that fails': {
    prepare: ({ failPublishing }) => failPublishing(),
    prints: /npm publish .* failed/,
    calls: [...CHECKED, PUBLISHED],
  },
  'a version with a tag in the remote repository': {
    prepare: ({ git }) => git('push', '--quiet', 'origin', 'HEAD:refs/tags/v1.2.0'),
    prints: /The tag v1\.2\.0 exists/,
  },
}
for (const [what, { args, code = 1, prints, calls = [''], check, prepare }] of Object.entries(
  UNTAGGED,
)) {
  test(`${what} leaves no tag`, (t) => {
    const clone = createClone(t, check === undefined ? {} : { '.ci/run': `${check}\n` })
    prepare?.(clone)

    const { status, stdout, stderr } = clone.release(...(args ? [args] : []))

    assert.equal(status, code, stderr)
    assert.match(stdout + stderr, prints)
    assert.deepEqual([clone.calls(), clone.tags()], [calls, ''])
  })
}

test('a version with a suffix is published under the tag next', (t) => {
  const suffixed = Object.entries(files).map(([file, text]) => {
    return [file, text.replace('1.2.0', '1.2.0-rc.1')]
  })
  const { release, calls } = createClone(t, Object.fromEntries(suffixed))

  assert.equal(release().status, 0)
  assert.deepEqual(calls().slice(2), ['publish sample-1.2.0-rc.1.tgz --tag next'])
})
