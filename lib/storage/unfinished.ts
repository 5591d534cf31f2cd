import { TillError } from '../errors.ts'

/** What is said of a copy that was cut off, to all but the copy that goes on with it. */
export function unfinishedError(): TillError {
  const message =
    'it is a copy that was not finished: run the same copy again, which goes on with it'
  return new TillError('storage_unavailable', message)
}
