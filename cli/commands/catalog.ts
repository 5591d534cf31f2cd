import { existsSync, readFileSync } from 'node:fs'
import { Readable } from 'node:stream'
import { CATALOG_SCHEMA } from '../../lib/index.ts'
import { CATALOG_OPTIONS, printPlan, readRequest, readStores } from '../catalog-file.ts'
import { formatCatalogTypes } from '../catalog-types.ts'
import { command } from '../command.ts'
import { CommandFailure, UsageError } from '../command-errors.ts'
import { OUT_OPTION, PROJECT_OPTION } from '../options.ts'
import { createExport } from '../output-file.ts'
import { warnOfWebhook } from '../warnings.ts'

export const catalogCommands = [
  command({
    name: 'catalog export',
    summary: 'Write a project with its stores and items as a catalog file',
    example: 'tillkit catalog export --project prj_1 --out catalog.json',
    options: { ...PROJECT_OPTION, ...OUT_OPTION },
    async run({ till, options, inputs, output, io }) {
      if (output.json) throw new UsageError('catalog export writes JSON already: leave out --json')
      const write = createExport({ io, inputs }, options.out)
      const project_id = options.project
      const account = await till.accounts.ownerOf(project_id)
      await write(till.catalog.export(account, { project_id }), () => 'the catalog')
    },
  }),

  command({
    name: 'catalog plan',
    summary: 'Show what a catalog file would change',
    example: 'tillkit catalog plan catalog.json --check',
    operand: 'FILE|-',
    options: { ...CATALOG_OPTIONS, check: { help: 'exit with 1 when there are differences' } },
    async run(invocation) {
      const { till, options, output } = invocation
      const { account, request } = await readRequest(invocation)
      const plan = await till.catalog.plan(account, request)
      printPlan(output, plan, request.ignored_columns ?? [])
      if (options.check && plan.changes.length > 0) throw new CommandFailure('')
    },
  }),

  command({
    name: 'catalog apply',
    summary: 'Make all changes of a catalog file, or none',
    example: 'tillkit catalog apply catalog.json',
    storesSecrets: true,
    operand: 'FILE|-',
    options: {
      ...CATALOG_OPTIONS,
      digest: { value: 'D', help: 'the digest of the plan: refuse when the catalog changed since' },
    },
    async run(invocation) {
      const { till, options, output, io } = invocation
      const { account, request } = await readRequest(invocation)
      const { digest } = options
      const plan = await till.catalog.apply(account, { ...request, digest })
      output.line(plan.changes.length > 0 ? 'Applied.' : 'Nothing to change.')
      printPlan(output, plan, request.ignored_columns ?? [])
      for (const { kind, store_id = '' } of plan.changes) {
        if (kind === 'item') continue
        const isStore = kind === 'store'
        const record = isStore
          ? till.stores.get(account, store_id)
          : till.projects.get(account, plan.project_id)
        await warnOfWebhook(till, io, account, await record)
      }
    },
  }),

  command({
    name: 'catalog types',
    summary: 'Write TypeScript types of the stores, the SKUs and the metadata',
    description:
      'Reads a project from the database, or a catalog file. Archived items are included: players may own them.',
    example: 'tillkit catalog types catalog.json --out catalog.ts --check',
    operand: '[FILE|-]',
    needsDatabaseFor: 'project',
    options: {
      project: { value: 'ID', help: 'the project, without FILE' },
      ...OUT_OPTION,
      check: { help: 'change nothing; exit with 1 when the file of --out is stale' },
    },
    async run(invocation) {
      const { options, output } = invocation
      const { out = '', check } = options
      if (output.json) throw new UsageError('catalog types writes TypeScript: leave out --json')
      if (check && out === '') throw new UsageError('--check needs --out FILE')
      const write = createExport(invocation, check ? undefined : options.out)
      const types = await formatCatalogTypes(readStores(invocation))
      if (!check) return write(Readable.from([types]), () => 'the types')
      const isThere = existsSync(out)
      if (isThere && readFileSync(out, 'utf8').replaceAll('\r\n', '\n') === types) return
      const problem = isThere ? 'is stale' : 'is missing'
      throw new CommandFailure(`${out} ${problem}: run this command without --check`)
    },
  }),

  command({
    name: 'catalog schema',
    summary: 'Print the JSON Schema of a catalog file',
    example: 'tillkit catalog schema',
    needsNoDatabase: true,
    options: {},
    async run({ io }) {
      io.stdout.write(`${JSON.stringify(CATALOG_SCHEMA, null, 2)}\n`)
    },
  }),
]
