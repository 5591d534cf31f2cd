import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { command } from '../command.ts'
import { CommandFailure, UsageError } from '../command-errors.ts'
import type { Io } from '../io.ts'
import { accountOf, PROJECT_OPTIONS } from '../options.ts'
import { createStatusLine } from '../progress.ts'

export const usersErase = command({
  name: 'users erase',
  summary: 'Erase a user from all records of a project; repeat it if it is interrupted',
  example: 'tillkit users erase player-1 --project prj_1 --yes',
  operand: 'USER',
  options: {
    ...PROJECT_OPTIONS,
    delete: { help: 'also delete the purchases, which else keep their amounts' },
    yes: { help: 'do not ask; required without a terminal' },
  },
  async run({ till, operand, options, output, io }) {
    const { project, delete: deletes } = options
    const account = await accountOf(till, options)
    if (!options.yes) await confirm(io, operand)
    const line = createStatusLine(io.stderr)
    const user = { project_id: project, user_id: operand }
    const onProgress = (purchases: number) =>
      line.update(() => `purchases erased: ${purchases.toLocaleString('en-US')}`)
    const erased = await till.users
      .erase(account, user, { delete: deletes, onProgress })
      .finally(line.end)
    output.record({ ...erased, deleted: Boolean(deletes) })
    if (!erased.found)
      io.stderr.write('Nothing is stored of this user. Check the id and --project\n')
  },
})

/** Asks for the user's id on a terminal. Throws unless the answer is that id. */
async function confirm(io: Io, user_id: string): Promise<void> {
  const { isTTY } = io.stdin as { readonly isTTY?: boolean }
  if (!isTTY || !io.stderr.isTTY) {
    throw new UsageError('An erasure can not be undone: confirm it with --yes')
  }
  const lines = createInterface({ input: io.stdin, output: io.stderr })
  const ended = once(lines, 'close').then(() => [''])
  lines.setPrompt('An erasure can not be undone. Type the id of the user to erase: ')
  lines.prompt()
  const [answer] = await Promise.race([once(lines, 'line'), ended])
  lines.close()
  if (answer !== user_id) throw new CommandFailure('Nothing was erased: the id differs')
}
