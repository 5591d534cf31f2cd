// Runs several test files in one process. No test starts before all files are loaded: the runner
// calls the process's `after` hooks as soon as no test is waiting.
import { test } from 'node:test'

/** The title of the test that holds the others back. The reporter does not count it. */
export const LOADED = 'all files are loaded'

export async function loadGroup(scripts) {
  let end
  const loaded = new Promise((resolve) => {
    end = resolve
  })
  test(LOADED, () => loaded)
  for (const script of scripts) {
    try {
      await import(script)
    } catch (error) {
      test(`${script} loads`, () => {
        throw error
      })
    }
  }
  end()
}
