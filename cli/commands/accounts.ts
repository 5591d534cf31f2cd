import { KEY_SCOPES, type KeyScope, PLATFORMS } from '../../lib/index.ts'
import { command, type OptionSpecs } from '../command.ts'
import { UsageError } from '../command-errors.ts'
import { createAccountIfMissing, ifMissing } from '../if-missing.ts'
import { ACCOUNT_OPTION } from '../options.ts'

/** The fields of a key that a command sets. */
const KEY_OPTIONS = {
  name: { value: 'NAME', help: 'what the key is for' },
  scopes: {
    value: 'SCOPES',
    parse: (text: string) => text.split(',') as KeyScope[], // validated by the library
    help: `what it may do, of ${KEY_SCOPES.join(',')}; default all`,
  },
} as const satisfies OptionSpecs

export const accountCommands = [
  command({
    name: 'account create',
    summary: 'Create an account; its key is shown only once',
    example: "tillkit account create --name 'My studio'",
    makesDatabase: true,
    options: {
      name: { value: 'NAME', required: true, help: 'what the account is called' },
      project: {
        value: 'NAME',
        field: 'project.name',
        help: 'the name of a first project; its public key is shown too',
      },
      'bundle-id': {
        value: 'ID',
        field: 'project.bundle_id',
        help: 'of the project, in reverse-domain form: com.example.game',
      },
      platform: { value: 'P', choices: PLATFORMS, help: 'of the project: mobile, web, desktop, …' },
      ...ifMissing('name'),
    },
    async run({ till, options, output, db, isNew, io }) {
      const { name, project, 'bundle-id': bundle_id, platform } = options
      const first = firstProject({ project, 'bundle-id': bundle_id, platform })
      const created = options['if-missing']
        ? await createAccountIfMissing({ till, io, db }, name, first)
        : await till.accounts.create({ name, project: first })
      if (isNew) io.stderr.write(`tillkit: created a new database ${db}\n`)
      const { project: { id = '', public_key = '' } = {}, ...account } = created
      return output.json || !first ? created : { ...account, project_id: id, public_key }
    },
  }),

  command({
    name: 'account list',
    summary: 'List all accounts',
    example: 'tillkit account list --json',
    options: {},
    run: ({ till, output }) =>
      output.list(
        'accounts',
        till.accounts.all(),
        ['account_id', 'name', 'created_at'],
        ['name…', 'created_at…'],
      ),
  }),

  command({
    name: 'account keys add',
    summary: 'Add a key to an account; it is shown only once',
    example: 'tillkit account keys add --account acc_1 --name server --scopes purchases,read',
    options: { ...ACCOUNT_OPTION, ...KEY_OPTIONS },
    run: ({ till, account, input }) => till.accounts.addKey(account, input),
  }),

  command({
    name: 'account keys update',
    summary: 'Change the name or the scopes of a key, at once',
    example: 'tillkit account keys update key_1 --scopes purchases,read',
    operand: 'KEY_ID',
    options: { ...ACCOUNT_OPTION, ...KEY_OPTIONS },
    run: ({ till, account, operand, input }) =>
      till.accounts.updateKey(account, { ...input, key_id: operand }),
  }),

  command({
    name: 'account keys list',
    summary: 'List the ids of the keys of an account',
    example: 'tillkit account keys list --account acc_1',
    options: ACCOUNT_OPTION,
    async run({ till, account, output }) {
      const keys = await till.accounts.listKeys(account)
      const columns = ['key_id', 'name', 'scopes', 'created_at', 'last_used_on', 'revoked_at']
      const rows = keys.map((key) => ({ ...key, scopes: key.scopes?.join() ?? 'all' }))
      output.page({ keys }, rows, columns, ['name…', 'created_at…', 'revoked_at…'])
    },
  }),

  command({
    name: 'account keys revoke',
    summary: 'Revoke a key of an account, at once',
    example: 'tillkit account keys revoke key_1 --account acc_1',
    operand: 'KEY_ID',
    options: ACCOUNT_OPTION,
    async run({ till, account, operand }) {
      await till.accounts.revokeKey(account, operand)
      return { account_id: account.account_id, key_id: operand, revoked: true }
    },
  }),
]

/** The first project of an account, if the options have one. */
function firstProject({ project, 'bundle-id': bundle_id, platform }: FirstProjectOptions) {
  if (project !== undefined && bundle_id !== undefined && platform !== undefined) {
    return { name: project, bundle_id, platform }
  }
  const parts = { '--project': project, '--bundle-id': bundle_id, '--platform': platform }
  const missing = Object.entries(parts).flatMap(([option, value]) => (value ? [] : [option]))
  if (missing.length === 3) return undefined
  throw new UsageError(`A first project needs ${missing.join(' and ')} too`)
}

interface FirstProjectOptions {
  readonly project: string | undefined
  readonly 'bundle-id': string | undefined
  readonly platform: (typeof PLATFORMS)[number] | undefined
}
