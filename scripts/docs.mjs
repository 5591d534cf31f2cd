// Writes the generated pages.
import { writeFileSync } from 'node:fs'
import { createOpenApi } from '../dist/http/index.js'
import { formatApiPage } from './api-page.mjs'
import { formatLibraryPage } from './library-page.mjs'
import { formatIndex, formatLlms } from './pages.mjs'

writeFileSync('docs/api.md', formatApiPage(createOpenApi({ manage: true })))
writeFileSync('docs/library.md', formatLibraryPage())
writeFileSync('docs/README.md', formatIndex())
writeFileSync('llms.txt', formatLlms())
