// The commands import this file when they read or write one of these files.
export {
  formatErrorReport,
  formatSkusTemplate,
  parseCatalogItems,
  readCatalog,
} from '../lib/index.ts'
