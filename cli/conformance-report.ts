import { endpointOf } from '../conformance/endpoints.ts'
import { countOutcomes, type Finding, type Outcome, type Report } from '../conformance/suite.ts'
import { formatValue } from './text.ts'

/**
 * Formats a report: a line for each endpoint, then its failures, its notes, and the reasons why
 * checks did not run.
 */
export function formatReport({ counts, records, restored, checks }: Report): string {
  const numbers = [...new Set(checks.map(({ endpoint }) => endpoint))]
  const endpoints = numbers.flatMap((number) => {
    const own = checks.filter(({ endpoint }) => endpoint === number)
    const { method, path } = endpointOf(number)
    const line = `${String(number).padStart(2)}  ${`${method} ${path}`.padEnd(41)}`
    return [
      `${line}  ${formatCounts(countOutcomes(own))}`,
      ...own.flatMap(formatFinding),
      ...notRun(own),
    ]
  })
  return [
    ...endpoints,
    '',
    `${checks.length} checks: ${formatCounts(counts)}`,
    `New records are named ${records}_…`,
    ...(restored ? [] : ['The name, platform and config of the project were not restored.']),
  ].join('\n')
}

const WORDS: { readonly [O in Outcome]: string } = {
  passed: 'passed',
  failed: 'FAILED',
  noted: 'noted',
  not_run: 'not run',
}

function formatCounts(counts: Report['counts']): string {
  const outcomes = Object.keys(WORDS) as Outcome[]
  const named = outcomes.filter((outcome) => outcome === 'passed' || counts[outcome] > 0)
  return named.map((outcome) => `${counts[outcome]} ${WORDS[outcome]}`).join(', ')
}

function formatFinding({ outcome, title, clause, ...finding }: Finding): string[] {
  const { expected = '', got = '', request = '' } = finding
  if (outcome !== 'failed' && outcome !== 'noted') return []
  const isOpen = outcome === 'noted'
  return [
    `    ${isOpen ? 'Note' : 'FAILED'}: ${title}`,
    `      clause: ${clause}${isOpen ? ' (open)' : ''}`,
    ...fold(`${isOpen ? 'recommended' : 'expected'}: ${expected}`),
    ...fold(`got: ${got}`),
    ...(isOpen ? [] : request.split('\n').map((line) => `      ${formatValue(line)}`)),
  ]
}

const MAX_LINES = 4

/** Breaks a text of the server into a few lines. */
function fold(text: string): string[] {
  const [first = '', ...others] = formatValue(text).match(/.{40,70}(?= |$)|.{1,70}/g) ?? []
  return [
    `      ${first}`,
    ...others.slice(0, MAX_LINES - 1).map((line) => `        ${line.trimStart()}`),
  ]
}

/** Formats a line for each reason why checks did not run. */
function notRun(findings: readonly Finding[]): string[] {
  const reasons = findings.flatMap(({ reason = [] }) => reason)
  return [...new Set(reasons)].map((reason) => {
    const count = reasons.filter((each) => each === reason).length
    return `    ${count} not run: ${formatValue(reason)}`
  })
}
