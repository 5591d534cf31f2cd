import type { Account } from '../../lib/index.ts'
import { StreamedBody } from '../representation.ts'
import type { Result } from '../route.ts'
import { waitForTurn } from '../scheduler.ts'

/**
 * Answers with a JSON file whose text is created while it is sent. The request counts in the
 * concurrency limit only until its first chunk, not while a slow client reads.
 */
export async function streamFile(
  { account_id }: Account,
  fileName: string,
  chunks: AsyncIterable<string>,
): Promise<Result> {
  const source = chunks[Symbol.asyncIterator]()
  const first = await source.next() // before the headers: an error becomes a problem document
  const next = async () => {
    await waitForTurn(account_id)
    return source.next()
  }
  async function* rest() {
    for (let chunk = first; !chunk.done; chunk = await next()) yield Buffer.from(chunk.value)
  }
  const headers = { 'content-disposition': `attachment; filename="${fileName}"` }
  return { body: new StreamedBody(rest()), headers }
}
