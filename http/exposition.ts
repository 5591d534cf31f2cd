/** One figure with its labels. */
export interface Sample {
  readonly labels?: { readonly [name: string]: string | number }
  readonly value: number
  /** Of a histogram: `_bucket`, `_sum`, `_count`. */
  readonly suffix?: string
}

/** Figures of one name. */
export interface Family {
  readonly name: string
  readonly type: 'counter' | 'gauge' | 'histogram'
  readonly help: string
  readonly samples: readonly Sample[]
}

export const EXPOSITION_TYPE = 'text/plain; version=0.0.4; charset=utf-8'

/** The text format of Prometheus, version 0.0.4. Helps and labels are ours, and need no escapes. */
export function formatFamilies(families: readonly Family[]): string {
  return families.map(formatFamily).join('')
}

function formatFamily({ name, type, help, samples }: Family): string {
  const lines = samples.map(
    ({ suffix = '', labels = {}, value }) => `${name}${suffix}${formatLabels(labels)} ${value}\n`,
  )
  return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${lines.join('')}`
}

function formatLabels(labels: { readonly [name: string]: string | number }): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${value}"`)
  return pairs.length > 0 ? `{${pairs.join(',')}}` : ''
}
