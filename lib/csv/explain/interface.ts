import type { ExplainedFile } from '../../domain/explanation.ts'
import type { LayoutFile } from '../layout-file.ts'

export interface Explanation extends ExplainedFile {
  /** The proposal. Missing for a known format, and if `missing` is present. */
  readonly layout?: LayoutFile
}
