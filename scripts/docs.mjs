// Writes the generated pages.
import { writeFileSync } from 'node:fs'
import { createOpenApi } from '../dist/http/index.js'
import { formatApiPage } from './api-page.mjs'
import { formatLibraryPage } from './library-page.mjs'

writeFileSync('docs/api.md', formatApiPage(createOpenApi({ manage: true })))
writeFileSync('docs/library.md', formatLibraryPage())
