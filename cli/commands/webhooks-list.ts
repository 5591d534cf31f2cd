import type { WebhookEndpoint } from '../../lib/index.ts'
import { command } from '../command.ts'
import { ACCOUNT_OPTION, PAGE_OPTIONS } from '../options.ts'
import { quote } from '../text.ts'
import { warnOfUnsigned } from '../warnings.ts'
import { formatFailure } from '../webhooks.ts'

export const webhooksList = command({
  name: 'webhooks list',
  summary: 'List the webhook endpoints with their states, lags and last failures',
  example: 'tillkit webhooks list --project prj_1',
  options: {
    ...ACCOUNT_OPTION,
    project: { value: 'ID', help: 'only the endpoints of this project and its stores' },
    ...PAGE_OPTIONS,
  },
  async run({ till, options, output, io }) {
    const account = await till.accounts.get(options.account)
    const { project: project_id, limit, cursor } = options
    const page = await till.webhooks.list(account, { project_id, limit, cursor })
    if (output.json) return output.record(page)
    output.table(
      page.endpoints.map(toRow),
      'endpoint_id state signed cursor lag lag_seconds url last_failure'.split(' '),
      {
        lag_seconds: 'omit',
        cursor: 'omit',
        url: 'shorten',
        last_failure: 'shorten',
        signed: 'omit',
      },
    )
    for (const { endpoint_id, url, is_signed, ...endpoint } of page.endpoints) {
      warnOfUnsigned(io, endpoint_id, url, is_signed)
      const { unconfirmed_url, unconfirmed_is_signed, unconfirmed_at } = endpoint
      if (unconfirmed_url === undefined) continue
      const what = unconfirmed_url === url ? 'same URL' : 'new URL'
      const secret = unconfirmed_is_signed ? 'new secret' : 'no secret'
      const command = `tillkit webhooks confirm ${endpoint_id} --url ${quote(unconfirmed_url)}`
      const time = unconfirmed_at ? ` --set-at ${unconfirmed_at}` : ''
      output.line(`A session set (${what}, ${secret}): ${command}${time}`)
    }
    if (page.next) io.stderr.write(`There are more: --cursor ${page.next}\n`)
  },
})

function toRow(endpoint: WebhookEndpoint): object {
  const { reason, state, is_signed, last_failure } = endpoint
  return {
    ...endpoint,
    state: reason === undefined ? state : `${state}: ${reason}`,
    signed: is_signed ? 'yes' : 'no',
    last_failure: last_failure ? formatFailure(last_failure) : '',
  }
}
