import { operations } from '../lib/operations.ts'
import { type Command, command } from './command.ts'
import { ACCOUNT_OPTION, STORE_OPTIONS } from './options.ts'
import { findItem } from './unknown-skus.ts'

/** The operand of the commands for one webhook endpoint. */
export const ENDPOINT = 'PROJECT[/STORE]'

type CliOperation = Extract<
  (typeof operations)[number],
  { readonly cli: readonly [string, string] }
>
type Noun = 'items' | 'webhooks'

/** Creates the commands of the operations that have one: each makes one call and prints the record. */
export function operationCommands(noun: Noun): Command[] {
  const own = operations.filter((each): each is CliOperation => 'cli' in each)
  return own.filter(({ name }) => name.startsWith(`${noun}.`)).map(createCommand)
}

// Does not compile when an operation of another noun has a command.
type Known = CliOperation & { readonly name: `${Noun}.${string}` }

function createCommand({ name: operation, cli: [name, summary] }: Known): Command {
  const [noun, verb] = operation.split('.') as [Noun, 'archive']
  const example = `tillkit ${name}`
  if (noun === 'items') {
    return command({
      name,
      summary,
      example: `${example} sword --store main`,
      operand: 'SKU',
      options: STORE_OPTIONS,
      async run(invocation) {
        const { id } = await findItem(invocation)
        return invocation.till.items[verb](invocation.account, id)
      },
    })
  }
  return command({
    name,
    summary,
    example: `${example} prj_1/main`,
    operand: ENDPOINT,
    options: ACCOUNT_OPTION,
    run: ({ till, account, operand }) => till.webhooks[verb as 'pause'](account, operand),
  })
}
