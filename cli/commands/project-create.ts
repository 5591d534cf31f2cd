import { command } from '../command.ts'
import { json } from '../values.ts'
import { warnOfStatus } from '../warnings.ts'

export const projectCreate = command({
  name: 'project create',
  summary: 'Create a project and its public key',
  storesSecrets: true,
  options: {
    account: { value: 'ID', required: true, help: 'the account that owns it' },
    name: { value: 'NAME', required: true, help: 'what the project is called' },
    'bundle-id': { value: 'ID', required: true, help: 'in reverse-domain form: com.example.game' },
    platform: { value: 'P', required: true, help: 'mobile, web, desktop, ios, android or adroid' },
    status: { value: 'S', help: 'default active; disabled and archived have effect' },
    dlscheme: { value: 'SCHEME', help: 'deep-link scheme of the application' },
    config: { value: 'JSON|@FILE', parse: json, help: 'project configuration' },
  },
  async run({ till, options, output }) {
    const account = await till.accounts.get(options.account)
    const project = await till.projects.create(account, {
      name: options.name,
      bundle_id: options['bundle-id'],
      platform: options.platform,
      status: options.status,
      dlscheme: options.dlscheme,
      config: options.config,
    })
    output.record(project)
    warnOfStatus(options.status)
  },
})
