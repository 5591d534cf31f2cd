// Writes the generated pages.
import { writeFileSync } from 'node:fs'
import { groups } from '../cli/commands.ts'
import { VARIABLES } from '../cli/config.ts'
import { COMMON_OPTIONS } from '../cli/options.ts'
import { createOpenApi } from '../http/index.ts'
import { METRICS } from '../http/prometheus.ts'
import { formatApiPage } from './api-page.mjs'
import { formatCommandsPage } from './commands-page.mjs'
import { formatLibraryPage } from './library-page.mjs'
import { formatMetricsPage } from './metrics-page.mjs'
import { formatIndex, formatLlms } from './pages.mjs'

writeFileSync('docs/api.md', formatApiPage(createOpenApi({ manage: true })))
writeFileSync('docs/commands.md', formatCommandsPage(groups, COMMON_OPTIONS, VARIABLES))
writeFileSync('docs/library.md', formatLibraryPage())
writeFileSync('docs/metrics.md', formatMetricsPage(METRICS))
writeFileSync('docs/README.md', formatIndex())
writeFileSync('llms.txt', formatLlms())
