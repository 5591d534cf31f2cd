/**
 * The values of a metric by their labels, as Prometheus writes them: `{kind="reads"}`, or '' for a
 * value without labels. In a histogram, a suffix of the name comes first: `_sum{route="/healthz"}`.
 */
export type Samples = { readonly [labels: string]: number }

/** A metric family: the samples of one name. */
export interface Family {
  readonly name: string
  readonly type: 'counter' | 'gauge' | 'histogram'
  readonly help: string
  readonly samples: Samples
  /** How to combine the values of several processes. */
  readonly aggregate: keyof typeof combine
}

const combine = {
  sum: (a: number, b: number) => a + b,
  min: Math.min,
  max: Math.max,
}

/** A metric without a value is left out of the answer. */
type Value = number | Samples | undefined

export function counter(name: string, help: string, value: Value): Family {
  const samples = typeof value === 'number' ? { '': value } : (value ?? {})
  return { name, type: 'counter', help, samples, aggregate: 'sum' }
}

export function gauge(
  name: string,
  help: string,
  value: Value,
  aggregate: Family['aggregate'] = 'sum',
): Family {
  return { ...counter(name, help, value), type: 'gauge', aggregate }
}

export function histogram(name: string, help: string, samples: Samples): Family {
  return { ...counter(name, help, samples), type: 'histogram' }
}

/** A sample for each value of a label. */
export function samplesBy(label: string, values: { readonly [name: string]: number }): Samples {
  const samples = Object.entries(values).map(([name, value]) => [`{${label}="${name}"}`, value])
  return Object.fromEntries(samples)
}

export const METRICS_CONTENT_TYPE = 'text/plain; version=0.0.4; charset=utf-8'

/** Formats Prometheus text, version 0.0.4. Escapes nothing, because names and labels are fixed. */
export function formatFamilies(families: readonly Family[]): string {
  return families.map(formatFamily).join('')
}

function formatFamily({ name, type, help, samples }: Family): string {
  const lines = Object.entries(samples).map(([labels, value]) => `${name}${labels} ${value}\n`)
  if (lines.length === 0) return ''
  return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${lines.join('')}`
}

/** Combines the metrics of several processes into those of one. */
export function sumFamilies(processes: readonly (readonly Family[])[]): Family[] {
  const sums = new Map<string, Family>()
  for (const family of processes.flat()) {
    const { name, aggregate } = family
    const samples: { [labels: string]: number } = { ...sums.get(name)?.samples }
    for (const [labels, value] of Object.entries(family.samples)) {
      const before = samples[labels]
      samples[labels] = before === undefined ? value : combine[aggregate](before, value)
    }
    sums.set(name, { ...family, samples })
  }
  return [...sums.values()]
}

/**
 * Returns the metrics that still count after their process has ended: all except gauges. Without
 * them, the sum of a counter would decrease.
 */
export function countersOf(families: readonly Family[]): Family[] {
  return families.filter(({ type }) => type !== 'gauge')
}
