import { command } from '../command.ts'
import { PAGE_OPTIONS } from '../options.ts'

export const auditList = command({
  name: 'audit list',
  summary: 'List who changed what and when, oldest first',
  example: 'tillkit audit list --account acc_1 --limit 20',
  options: {
    account: { value: 'ID', help: 'only entries of this account' },
    follow: { help: 'print a cursor that continues later, also after the last page' },
    ...PAGE_OPTIONS,
  },
  async run({ till, options, output, io }) {
    const { account: account_id, follow, limit, cursor } = options
    if (account_id !== undefined) await till.accounts.get(account_id)
    const query = { account_id, limit, cursor }
    const page = follow
      ? await till.operations.followAudit(query)
      : await till.operations.listAudit(query)
    if (output.json) return output.record(page)
    output.table(page.entries, ['at', 'actor', 'action', 'subject', 'account_id', 'request_id'], {
      request_id: 'omit',
      account_id: 'omit',
      actor: 'shorten',
      at: 'shorten',
    })
    if (follow) io.stderr.write(`To continue: --follow --cursor ${page.next}\n`)
    else if (page.next) io.stderr.write(`There are more: --cursor ${page.next}\n`)
  },
})
