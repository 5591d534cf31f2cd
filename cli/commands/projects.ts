import { type NewProject, PLATFORMS, type ProjectChange } from '../../lib/index.ts'
import { command } from '../command.ts'
import { json, wholeNumber } from '../option-values.ts'
import { ACCOUNT_OPTION, CHANGE_OPTIONS, NEW_STATUS_OPTION, PROJECT_OPTIONS } from '../options.ts'
import { warnOfStatus, warnOfWebhook } from '../warnings.ts'

const PLATFORM = {
  ...{ value: 'P', choices: PLATFORMS },
  help: 'mobile, web, desktop, ios, android or adroid',
} as const

const projectCreate = command({
  name: 'project create',
  summary: 'Create a project and its public key',
  example:
    'tillkit project create --name Game --bundle-id com.example.game \\\n    --platform mobile',
  storesSecrets: true,
  options: {
    ...ACCOUNT_OPTION,
    name: { value: 'NAME', required: true, help: 'the name of the project' },
    'bundle-id': { value: 'ID', required: true, help: 'in reverse-domain form: com.example.game' },
    platform: { ...PLATFORM, required: true },
    ...NEW_STATUS_OPTION,
    dlscheme: { value: 'SCHEME', help: 'deep-link scheme of the application' },
    config: { value: 'JSON|@FILE', parse: json, help: 'project configuration' },
  },
  async run({ till, account, options, output, io }) {
    const project = await till.projects.create(account, {
      name: options.name,
      bundle_id: options['bundle-id'],
      platform: options.platform,
      status: options.status,
      dlscheme: options.dlscheme,
      config: options.config,
    } satisfies Record<Exclude<keyof NewProject, 'account_id'>, unknown>)
    output.record(project)
    warnOfStatus(io, options.status)
    await warnOfWebhook(till, io, account, project)
  },
})

const projectList = command({
  name: 'project list',
  summary: 'List the projects of an account',
  example: 'tillkit project list --account acc_1',
  options: ACCOUNT_OPTION,
  async run({ till, account, output }) {
    const columns = ['id', 'name', 'platform', 'status']
    await output.list(till.projects.all(account), columns, ['name…', 'platform', 'status…'])
  },
})

const projectShow = command({
  name: 'project show',
  summary: 'Show a project with its public key',
  example: 'tillkit project show --project prj_1',
  options: PROJECT_OPTIONS,
  async run({ till, account, options, output }) {
    output.record(await till.projects.get(account, options.project))
  },
})

type Change = Record<keyof ProjectChange, unknown>

const projectUpdate = command({
  name: 'project update',
  summary: 'Change a project',
  example: "tillkit project update --project prj_1 --name 'Game 2' --config @config.json",
  storesSecrets: true,
  changes: ['name', 'platform', 'config', 'status'],
  options: {
    ...PROJECT_OPTIONS,
    name: { value: 'NAME', help: 'the name of the project' },
    platform: PLATFORM,
    ...CHANGE_OPTIONS,
  },
  async run({ till, account, options, output, io }) {
    const { project: id, name, platform, config, status } = options
    const change = { id, name, platform, config, status } satisfies Change
    const project = await till.projects.update(account, change)
    output.record(project)
    warnOfStatus(io, status)
    await warnOfWebhook(till, io, account, project)
  },
})

const projectRotateKey = command({
  name: 'project rotate-key',
  summary: 'Give a project a new public key',
  example: 'tillkit project rotate-key --project prj_1 --grace 3600',
  options: {
    ...PROJECT_OPTIONS,
    grace: {
      value: 'SECONDS',
      parse: wholeNumber(0, 2_592_000),
      help: 'how long the previous keys stay valid (default 86400, a day)',
    },
  },
  async run({ till, account, options, output }) {
    const rotation = { id: options.project, gracePeriod: options.grace && options.grace * 1000 }
    const { id, public_key } = await till.projects.rotateKey(account, rotation)
    output.record({ id, public_key })
  },
})

export const projectCommands = [
  projectCreate,
  projectList,
  projectShow,
  projectUpdate,
  projectRotateKey,
]
