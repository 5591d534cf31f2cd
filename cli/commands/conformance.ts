import type { Report, SuiteOptions } from '../../conformance/suite.ts'
import { command } from '../command.ts'
import { CommandFailure, UsageError } from '../command-errors.ts'
import type { Io } from '../io.ts'
import { serverUrl, type ValueParser, wholeNumber } from '../option-values.ts'
import { createStatusLine } from '../progress.ts'
import { interruptible } from '../signals.ts'

/** Parses the base URL of the server: the part of its URLs before `/api/v1`. */
const baseUrl: ValueParser<string> = (text, name) => {
  const { username, password, search, hash } = new URL(serverUrl(text, name))
  if (username + password + search + hash === '') return text
  throw new UsageError(`${name} must have no user, query or fragment`)
}

/** Parses an account key or public key: visible ASCII. The error does not quote the key. */
const key: ValueParser<string> = (text, name) => {
  if (/^[!-~]+$/.test(text)) return text
  throw new UsageError(`${name} must have at least one character, and only visible ASCII ones`)
}

const endpointNumbers: ValueParser<number[]> = (text, name) =>
  text.split(',').map((each) => wholeNumber(1, 10)(each.trim(), name))

export const conformance = command({
  name: 'conformance',
  summary: 'Check an implementation of the ten endpoints over HTTP',
  description:
    'Creates projects, stores, items and purchases, and leaves them behind. Changes the project of ' +
    'the public key, and restores it. Run it against a test installation. Give the account key in ' +
    'TILLKIT_ACCOUNT_KEY, because other users of this machine can see options.',
  example: 'tillkit conformance --url http://127.0.0.1:3000 --public-key pk_1',
  needsNoDatabase: true,
  options: {
    url: {
      value: 'URL',
      required: true,
      parse: baseUrl,
      help: 'the URL of the server, without /api/v1',
    },
    'public-key': {
      value: 'KEY',
      required: true,
      variable: 'TILLKIT_PUBLIC_KEY',
      parse: key,
      help: 'the public key of a project',
    },
    'account-key': {
      value: 'KEY',
      required: true,
      variable: 'TILLKIT_ACCOUNT_KEY',
      parse: key,
      secret: { name: 'the key', isIn: () => true, instead: 'TILLKIT_ACCOUNT_KEY' },
      help: 'a key of the account that owns the project',
    },
    only: { value: 'N,…', parse: endpointNumbers, help: 'check only these endpoints, 1 to 10' },
    timeout: {
      value: 'SECONDS',
      parse: wholeNumber(1, 60),
      help: 'time for one request (default 10); the whole run takes 300 at most',
    },
  },
  async run({ options, output, io }) {
    const { url, only, timeout = 10 } = options
    const { formatReport } = await import('../conformance-report.ts')
    const { Unreachable } = await import('../../conformance/suite.ts')
    const keys = { public_key: options['public-key'], account_key: options['account-key'] }
    try {
      const report = await runWithProgress({ url, ...keys, only, timeout: timeout * 1000 }, io)
      output.line(formatReport(report))
      if (output.json) output.record(report)
      if (!report.conforms) throw new CommandFailure('')
    } catch (error) {
      if (!(error instanceof Unreachable)) throw error
      if (output.json) output.record({ url, conforms: false, detail: error.message })
      throw new CommandFailure(error.message)
    }
  },
})

/** Runs the conformance checks. On a terminal, shows the current one. */
async function runWithProgress(options: SuiteOptions, io: Io): Promise<Report> {
  const { runSuite } = await import('../../conformance/suite.ts')
  const line = createStatusLine(io.stderr)
  const onProgress = (endpoint: number, title: string) =>
    line.update(() => `endpoint ${endpoint}: ${title}`)
  try {
    return await interruptible(io, 'some records were left behind', (signal) =>
      runSuite({ ...options, signal, onProgress }),
    )
  } finally {
    line.end()
  }
}
