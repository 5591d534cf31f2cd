/**
 * The `skip` of a test that waits, kills processes, fills a disk or memory, or loads a server:
 * `npm run soak` runs it, and `npm test` does not.
 */
export const soakOnly: string | false =
  process.env.TILLKIT_TEST_SOAK === undefined && 'npm run soak runs it'
