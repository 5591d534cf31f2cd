// npm run release: tests, packs, publishes and tags the version of package.json. Refuses when
// something is not ready. With --dry-run, does all but publish and tag. See CONTRIBUTING.md.
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const args = process.argv.slice(2)
const isDryRun = args.includes('--dry-run')
// A misspelt --dry-run must not publish.
if (args.some((each) => each !== '--dry-run')) end('Usage: npm run release [-- --dry-run]', 2)

const manifest = readJson('package.json')
const { name, version } = manifest
const tag = `v${version}`

refuse(findObstacles())
const head = git('rev-parse', 'HEAD')
run('bash', '.ci/run')
// The package must contain the commit that was tested.
refuse([...(git('rev-parse', 'HEAD') === head ? [] : ['HEAD has moved']), ...findChanges()])

run('npm', 'run', '--silent', 'build')
const folder = mkdtempSync(join(tmpdir(), 'tillkit-release-'))
process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
const packed = execFileSync(
  'npm',
  ['pack', '--ignore-scripts', '--json', '--pack-destination', folder],
  { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] },
)
const [{ filename, size, unpackedSize, integrity }] = JSON.parse(packed)
console.log(`${filename}: ${size} bytes, ${unpackedSize} unpacked, ${integrity}`)
if (isDryRun) end(`${name} ${version} is ready. This was a dry run: nothing is published.`, 0)

// The registry takes a version only once, so the tag follows: a failure here leaves no tag.
const channel = version.includes('-') ? 'next' : 'latest'
run('npm', 'publish', join(folder, filename), '--tag', channel)
run('git', 'tag', '--annotate', tag, head, '--message', `${name} ${version}`)
console.log(`${name} ${version} is published. Push the tag: git push origin ${tag}`)

/** All that is not ready, except for the tests. */
function findObstacles() {
  const lock = readJson('package-lock.json')
  const url = manifest.repository?.url ?? manifest.repository
  return [
    ...findChanges(),
    ...(lock.version === version ? [] : [`package-lock.json has the version ${lock.version}`]),
    ...(hasChangelog() ? [] : [`CHANGELOG.md has no dated section for ${version}`]),
    ...(tagExists() ? [`The tag ${tag} exists: is ${version} released already?`] : []),
    ...(url ? [] : ['package.json has no repository: set the URL of the public repository']),
  ]
}

function findChanges() {
  const changes = git('status', '--porcelain')
  return changes === '' ? [] : [`The tree has changes without a commit:\n${changes}`]
}

/** Whether the version has a section with a date and at least one line. */
function hasChangelog() {
  const sections = readFileSync('CHANGELOG.md', 'utf8').split(/^## /m)
  const section = sections.find((each) => each.startsWith(`[${version}] - `))
  return /^.* - \d{4}-\d{2}-\d{2}\n\s*\S/.test(section ?? '')
}

/** Whether the tag exists here or in the remote repository, if there is one. */
function tagExists() {
  if (git('tag', '--list', tag) !== '') return true
  if (!git('remote').split('\n').includes('origin')) return false
  return git('ls-remote', '--tags', 'origin', `refs/tags/${tag}`) !== ''
}

function refuse(obstacles) {
  if (obstacles.length > 0) end(['Not released:', ...obstacles].join('\n- '), 1)
}

function run(command, ...args) {
  const { status } = spawnSync(command, args, { stdio: 'inherit' })
  if (status !== 0) refuse([`${command} ${args.join(' ')} failed`])
}

function git(...args) {
  return execFileSync('git', args, { encoding: 'utf8' }).trim()
}

function readJson(file) {
  return JSON.parse(readFileSync(file, 'utf8'))
}

function end(message, code) {
  console[code === 0 ? 'log' : 'error'](message)
  process.exit(code)
}
