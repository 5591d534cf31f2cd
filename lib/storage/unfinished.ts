import { TillError } from '../errors.ts'

/** The error for opening an unfinished copy without `forCopy`. */
export function unfinishedError(): TillError {
  const message = 'it is a copy that was not finished: run the same copy again to finish it'
  return new TillError('storage_unavailable', message)
}
