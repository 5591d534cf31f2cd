/** One value with its labels. */
export interface Sample {
  readonly labels?: { readonly [name: string]: string | number }
  readonly value: number
  /** For a histogram, the suffix of the metric's name: `_bucket`, `_sum` or `_count`. */
  readonly suffix?: string
}

/** A metric family: the samples of one name. */
export interface Family {
  readonly name: string
  readonly type: 'counter' | 'gauge' | 'histogram'
  readonly help: string
  readonly samples: readonly Sample[]
  /** How to combine the values of several processes; default the sum. */
  readonly aggregate?: 'min' | 'max'
}

/** A counter with these samples, or with one value. */
export function counter(name: string, help: string, ...values: (Sample | number)[]): Family {
  const samples = values.map((each) => (typeof each === 'number' ? { value: each } : each))
  return { name, type: 'counter', help, samples }
}

export function gauge(
  name: string,
  help: string,
  values: number | readonly Sample[],
  aggregate?: Family['aggregate'],
): Family {
  const { samples } = counter(name, help, ...[values].flat())
  return { name, type: 'gauge', help, samples, ...(aggregate && { aggregate }) }
}

/** A sample for each value of a label. */
export function samplesBy(label: string, values: { readonly [name: string]: number }): Sample[] {
  return Object.entries(values).map(([name, value]) => ({ labels: { [label]: name }, value }))
}

export const METRICS_CONTENT_TYPE = 'text/plain; version=0.0.4; charset=utf-8'

/** Formats Prometheus text, version 0.0.4. Escapes nothing, because names and labels are fixed. */
export function formatFamilies(families: readonly Family[]): string {
  return families.map(formatFamily).join('')
}

/** Combines the metrics of several processes into those of one. */
export function sumFamilies(processes: readonly (readonly Family[])[]): Family[] {
  const sums = new Map<string, { readonly family: Family; readonly samples: Map<string, Sample> }>()
  for (const family of processes.flat()) {
    const sum = sums.get(family.name) ?? { family, samples: new Map() }
    sums.set(family.name, sum)
    for (const sample of family.samples) addSample(sum.samples, sample, family.aggregate)
  }
  return [...sums.values()].map(({ family, samples }) => {
    return { ...family, samples: [...samples.values()] }
  })
}

function addSample(
  sums: Map<string, Sample>,
  sample: Sample,
  aggregate: Family['aggregate'] | 'sum' = 'sum',
): void {
  const { suffix = '', labels = {}, value } = sample
  const key = suffix + formatLabels(labels)
  const before = sums.get(key)?.value
  if (before === undefined) sums.set(key, sample)
  else sums.set(key, { ...sample, value: combine[aggregate](before, value) })
}

const combine = {
  sum: (a: number, b: number) => a + b,
  min: Math.min,
  max: Math.max,
}

/**
 * Returns the metrics that still count after their process has ended: all except gauges. Without
 * them, the sum of a counter would decrease.
 */
export function countersOf(families: readonly Family[]): Family[] {
  return families.filter(({ type }) => type !== 'gauge')
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
