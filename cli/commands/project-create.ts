import { type NewProject, PLATFORMS } from '../../lib/index.ts'
import { command } from '../command.ts'
import { json } from '../option-values.ts'
import { ACCOUNT_OPTION, NEW_STATUS_OPTION } from '../options.ts'
import { warnOfProject, warnOfStatus } from '../warnings.ts'

export const projectCreate = command({
  name: 'project create',
  summary: 'Create a project and its public key',
  example:
    'tillkit project create --name Game --bundle-id com.example.game \\\n    --platform mobile',
  storesSecrets: true,
  options: {
    ...ACCOUNT_OPTION,
    name: { value: 'NAME', required: true, help: 'the name of the project' },
    'bundle-id': { value: 'ID', required: true, help: 'in reverse-domain form: com.example.game' },
    platform: {
      value: 'P',
      required: true,
      choices: PLATFORMS,
      help: 'mobile, web, desktop, ios, android or adroid',
    },
    ...NEW_STATUS_OPTION,
    dlscheme: { value: 'SCHEME', help: 'deep-link scheme of the application' },
    config: { value: 'JSON|@FILE', parse: json, help: 'project configuration' },
  },
  async run({ till, options, output, io }) {
    const account = await till.accounts.get(options.account)
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
    await warnOfProject(till, io, account, project)
  },
})
