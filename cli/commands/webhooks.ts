import { setTimeout } from 'node:timers/promises'
import {
  WEBHOOK_DELIVERY_STATES,
  type WebhookEndpoint,
  type WebhookEventType,
  type WebhookFailure,
} from '../../lib/index.ts'
import { command } from '../command.ts'
import { CommandFailure, UsageError } from '../command-errors.ts'
import { ENDPOINT, endpointOperations } from '../operation-commands.ts'
import { wholeNumber } from '../option-values.ts'
import { ACCOUNT_OPTION, PAGE_OPTIONS } from '../options.ts'
import { hint } from '../program.ts'
import { quote } from '../text.ts'
import { warnOfDisabled, warnOfPrivate, warnOfUnsigned } from '../warnings.ts'

export const webhookCommands = [
  command({
    name: 'webhooks list',
    summary: 'List the webhook endpoints with their states, lags and last failures',
    example: 'tillkit webhooks list --project prj_1',
    options: {
      ...ACCOUNT_OPTION,
      project: { value: 'ID', help: 'only the endpoints of this project and its stores' },
      ...PAGE_OPTIONS,
    },
    async run({ till, account, input, output, db, io }) {
      const page = await till.webhooks.list(account, input)
      output.page(
        page,
        page.endpoints.map(endpointRow),
        'endpoint_id state signed cursor lag lag_seconds url last_failure'.split(' '),
        ['lag_seconds', 'cursor', 'url…', 'last_failure…', 'signed'],
      )
      if (output.json) return
      for (const { endpoint_id, url, is_signed, ...endpoint } of page.endpoints) {
        warnOfUnsigned(io, endpoint_id, url, is_signed)
        warnOfPrivate(io, endpoint_id, endpoint.is_private)
        const { unconfirmed_url, unconfirmed_is_signed, unconfirmed_at } = endpoint
        if (unconfirmed_url === undefined) continue
        const what = unconfirmed_url === url ? 'same URL' : 'new URL'
        const secret = unconfirmed_is_signed ? 'new secret' : 'no secret'
        const time = unconfirmed_at ? ` --set-at ${unconfirmed_at}` : ''
        const words = `webhooks confirm ${endpoint_id} --url ${quote(unconfirmed_url)}${time}`
        output.line(`A session set (${what}, ${secret}): ${hint(words, db)}`)
      }
      if (input.cursor !== undefined) return
      // Stores whose URL receives nothing are no endpoints.
      for await (const project of till.projects.all(account)) {
        if (project.id !== (input.project_id ?? project.id)) continue
        for await (const store of till.stores.all(account, { project_id: project.id })) {
          warnOfDisabled(io, store)
        }
      }
    },
  }),

  command({
    name: 'webhooks log',
    summary: 'List the messages of an endpoint, newest first; the log keeps 30 days',
    example: 'tillkit webhooks log prj_1/main --state failed',
    operand: ENDPOINT,
    options: {
      ...ACCOUNT_OPTION,
      state: {
        value: 'S',
        choices: WEBHOOK_DELIVERY_STATES,
        help: 'only waiting, delivered or failed messages',
      },
      ...PAGE_OPTIONS,
    },
    async run({ till, account, operand: endpoint_id, input, output }) {
      const page = await till.webhooks.log(account, { ...input, endpoint_id })
      output.page(
        page,
        page.deliveries.map((each) => ({ ...each, result: formatFailure(each) })),
        'sequence type state attempts at next_at result webhook_id'.split(' '),
        ['webhook_id', 'next_at', 'at…', 'result…'],
      )
    },
  }),

  command({
    name: 'webhooks test',
    summary: 'Send a webhook.test event to an endpoint',
    example: 'tillkit webhooks test prj_1/main',
    operand: ENDPOINT,
    options: ACCOUNT_OPTION,
    async run({ till, account, operand: endpoint_id, output, io }) {
      const findLatest = async () => {
        const { deliveries } = await till.webhooks.log(account, { endpoint_id, limit: 100 })
        return deliveries.find(({ type }) => type === 'webhook.test')
      }
      const before = await findLatest()
      const endpoint = await till.webhooks.test(account, endpoint_id)
      output.record(endpoint)
      if (endpoint.state !== 'active') {
        io.stderr.write(
          `The endpoint is ${endpoint.state}: the event waits until webhooks resume\n`,
        )
        return
      }
      for (let waited = 0; waited < WAIT_MS; waited += POLL_MS) {
        await setTimeout(POLL_MS)
        const latest = await findLatest()
        if (!latest || latest.webhook_id === before?.webhook_id) continue
        const result = formatFailure(latest)
        const text = `The event is ${latest.state}: ${result}`
        if (latest.state === 'delivered') return void io.stderr.write(`${text}\n`)
        if (result) throw new CommandFailure(text)
      }
      throw new CommandFailure(
        `No server has sent the event within ${WAIT_MS / 1000} s. Start tillkit serve, or wait: earlier events come first`,
      )
    },
  }),

  command({
    name: 'webhooks replay',
    summary: 'Send the events from a number or a time on again',
    example: 'tillkit webhooks replay prj_1/main --since 2026-01-31T12:00:00Z',
    operand: ENDPOINT,
    options: {
      ...ACCOUNT_OPTION,
      from: { value: 'SEQUENCE', parse: wholeNumber(), help: 'the number of the first event' },
      since: { value: 'TIME', help: 'the time of the first event, or a day: 2026-01-31' },
    },
    async run({ till, account, operand: endpoint_id, options: { from, since } }) {
      if ((from === undefined) === (since === undefined)) {
        throw new UsageError('Give --from or --since, and not both')
      }
      return till.webhooks.replay(account, { endpoint_id, from, since })
    },
  }),

  command({
    name: 'webhooks resend',
    summary: 'Send one message of the log again',
    example: 'tillkit webhooks resend prj_1/main --id msg_7_k3x',
    operand: ENDPOINT,
    options: {
      ...ACCOUNT_OPTION,
      id: { value: 'WEBHOOK_ID', required: true, help: 'the webhook_id in webhooks log' },
    },
    run: ({ till, account, operand: endpoint_id, options: { id: webhook_id } }) =>
      till.webhooks.resend(account, { endpoint_id, webhook_id }),
  }),

  command({
    name: 'webhooks update',
    summary: 'Select the events that an endpoint receives',
    example: 'tillkit webhooks update prj_1 --events purchases.refunded,purchase.recorded',
    operand: ENDPOINT,
    options: {
      ...ACCOUNT_OPTION,
      events: {
        value: 'EVENTS',
        required: true,
        parse: (text: string) => (text === 'all' ? null : (text.split(',') as WebhookEventType[])), // validated by the library
        help: 'the only events to send, or all',
      },
    },
    run: ({ till, account, operand: endpoint_id, options: { events } }) =>
      till.webhooks.update(account, { endpoint_id, events }),
  }),

  ...endpointOperations,

  command({
    name: 'webhooks confirm',
    summary: 'Activate a webhook URL that a session set',
    example: 'tillkit webhooks confirm prj_1 --url https://shop.example/hook',
    operand: ENDPOINT,
    options: {
      ...ACCOUNT_OPTION,
      url: { value: 'URL', help: 'the expected URL; fails if another one waits meanwhile' },
      'set-at': {
        value: 'TIME',
        help: 'the time that webhooks list printed; fails if the URL or secret was set again',
      },
    },
    async run({ till, account, operand, options, output, io }) {
      const { url, 'set-at': unconfirmed_at } = options
      const seen = { endpoint_id: operand, url, unconfirmed_at }
      const endpoint = await till.webhooks.confirm(account, seen)
      output.record(endpoint)
      warnOfUnsigned(io, operand, endpoint.url, endpoint.is_signed)
      warnOfPrivate(io, operand, endpoint.is_private)
    },
  }),
]

function endpointRow(endpoint: WebhookEndpoint): object {
  const { reason, state, is_signed, last_failure } = endpoint
  return {
    ...endpoint,
    state: reason === undefined ? state : `${state}: ${reason}`,
    signed: is_signed ? 'yes' : 'no',
    last_failure: last_failure ? formatFailure(last_failure) : '',
  }
}

/** A server reads the changes of other processes every second. */
const WAIT_MS = 3_000
const POLL_MS = 100

/** Formats the answer's status or the error of an attempt to deliver a webhook. */
function formatFailure({ status, error }: Omit<WebhookFailure, 'at'>): string {
  return error ?? (status === undefined ? '' : `status ${status}`)
}
