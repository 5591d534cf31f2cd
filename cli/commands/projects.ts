import { type NewProject, PLATFORMS, type ProjectChange } from '../../lib/index.ts'
import { command } from '../command.ts'
import { createProjectIfMissing, ifMissing } from '../if-missing.ts'
import { json, milliseconds } from '../option-values.ts'
import {
  ACCOUNT_OPTION,
  CHANGE_OPTIONS,
  CONFIG_SECRET,
  NEW_STATUS_OPTION,
  PROJECT_OPTIONS,
} from '../options.ts'
import { warnOfStatus, warnOfWebhook } from '../warnings.ts'

const PLATFORM = {
  value: 'P',
  choices: PLATFORMS,
  help: 'mobile, web, desktop, ios, android or adroid',
} as const

type Change = Record<Exclude<keyof ProjectChange, 'id'>, unknown>

export const projectCommands = [
  command({
    name: 'project create',
    summary: 'Create a project and its public key',
    example:
      'tillkit project create --name Game --bundle-id com.example.game \\\n    --platform mobile',
    storesSecrets: true,
    options: {
      ...ACCOUNT_OPTION,
      ...ifMissing('bundle id'),
      name: { value: 'NAME', required: true, help: 'the name of the project' },
      'bundle-id': {
        value: 'ID',
        required: true,
        help: 'in reverse-domain form: com.example.game',
      },
      platform: { ...PLATFORM, required: true },
      ...NEW_STATUS_OPTION,
      dlscheme: { value: 'SCHEME', help: 'deep-link scheme of the application' },
      config: {
        value: 'JSON|@FILE',
        parse: json,
        secret: CONFIG_SECRET,
        help: 'project configuration',
      },
    },
    async run({ till, account, options, input, output, db, io }) {
      const { if_missing, ...given } = input
      given satisfies Record<Exclude<keyof NewProject, 'account_id'>, unknown>
      const project = if_missing
        ? await createProjectIfMissing({ till, io, db }, account, given)
        : await till.projects.create(account, given)
      output.record(await till.projects.get(account, project.id)) // without secrets
      warnOfStatus(io, options.status)
      await warnOfWebhook(till, io, account, project)
    },
  }),

  command({
    name: 'project list',
    summary: 'List the projects of an account',
    example: 'tillkit project list --account acc_1',
    options: ACCOUNT_OPTION,
    run({ till, account, output }) {
      const columns = ['id', 'name', 'platform', 'status']
      const projects = till.projects.all(account)
      return output.list('projects', projects, columns, ['name…', 'platform', 'status…'])
    },
  }),

  command({
    name: 'project show',
    summary: 'Show a project with its public key',
    example: 'tillkit project show --project prj_1',
    options: PROJECT_OPTIONS,
    run: ({ till, account, options }) => till.projects.get(account, options.project),
  }),

  command({
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
    async run({ till, account, options, input, output, io }) {
      const { project_id: id, ...change } = input satisfies Change
      const project = await till.projects.update(account, { id, ...change })
      output.record(await till.projects.get(account, project.id)) // without secrets
      warnOfStatus(io, options.status)
      await warnOfWebhook(till, io, account, project)
    },
  }),

  command({
    name: 'project rotate-key',
    summary: 'Give a project a new public key',
    example: 'tillkit project rotate-key --project prj_1 --grace 3600',
    options: {
      ...PROJECT_OPTIONS,
      grace: {
        value: 'SECONDS',
        field: 'grace_period',
        parse: milliseconds(0, 2_592_000),
        help: 'how long the previous keys stay valid (default 86400, a day)',
      },
    },
    async run({ till, account, options: { project, grace } }) {
      const rotation = { id: project, grace_period: grace }
      const { id, public_key } = await till.projects.rotateKey(account, rotation)
      return { id, public_key }
    },
  }),
]
