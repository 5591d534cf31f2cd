// Formats docs/metrics.md from the metrics of the server.
import { code, table } from './markdown.mjs'

/** The page for the metrics of `http/prometheus.ts`. */
export function formatMetricsPage(metrics) {
  const rows = Object.entries(metrics).map(([name, help]) => [code(name), help])
  return `${[
    '# Metrics',
    '`serve --metrics` answers `/metrics` in the text format of Prometheus. `npm run docs` makes this page\n' +
      'from the help texts of the metrics. [operations.md](operations.md#metrics) has alert rules.',
    table(['metric', 'meaning'], rows),
  ].join('\n\n')}\n`
}
