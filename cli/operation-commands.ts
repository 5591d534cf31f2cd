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
type Known = CliOperation & { readonly name: `${Noun}.${string}` }

type VerbOf<N extends Noun> = Extract<
  CliOperation,
  { readonly name: `${N}.${string}` }
>['name'] extends `${N}.${infer Verb}`
  ? Verb
  : never

// Does not compile when an operation of another noun has a command.
const own: readonly Known[] = operations.filter((each): each is CliOperation => 'cli' in each)

/** Returns the operations of a noun that have a command, by their verbs. */
function verbsOf<N extends Noun>(noun: N) {
  return own
    .filter(({ name }) => name.startsWith(`${noun}.`))
    .map(({ name, cli: [command, summary] }) => ({
      verb: name.slice(noun.length + 1) as VerbOf<N>,
      name: command,
      summary,
    }))
}

/** The commands that make one call with an item, and print it. */
export const itemOperations: readonly Command[] = verbsOf('items').map(({ verb, name, summary }) =>
  command({
    name,
    summary,
    example: `tillkit ${name} sword --store main`,
    operand: 'SKU',
    options: STORE_OPTIONS,
    async run(invocation) {
      const { id } = await findItem(invocation)
      return invocation.till.items[verb](invocation.account, id)
    },
  }),
)

/** The commands that make one call with a webhook endpoint, and print it. */
export const endpointOperations: readonly Command[] = verbsOf('webhooks').map(
  ({ verb, name, summary }) =>
    command({
      name,
      summary,
      example: `tillkit ${name} prj_1/main`,
      operand: ENDPOINT,
      options: ACCOUNT_OPTION,
      run: ({ till, account, operand }) => till.webhooks[verb](account, operand),
    }),
)
