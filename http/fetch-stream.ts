import { EventEmitter } from 'node:events'
import type { UnderlyingSource } from 'node:stream/web'
import type { Limits } from './limits.ts'
import type { MemoryBudget, Reader } from './memory-budget.ts'
import type { ReplyStream } from './reply.ts'

/** The client that reads one streamed body. The memory budget may disconnect it. */
class StreamReader extends EventEmitter implements Reader {
  destroyed = false

  destroy(): void {
    if (this.destroyed) return
    this.destroyed = true
    this.emit('close')
  }
}

/**
 * Called when a streamed answer has ended. `failure` is the error that cut it off; undefined when
 * the client hung up.
 */
export type StreamEnd = (isWhole: boolean, failure?: unknown) => void

/**
 * Creates the body of a fetch `Response`. Reads a chunk only when the runtime asks for it. Cuts off
 * the answer when the runtime asks for no chunk for `answerTimeout`, or when other answers need the
 * memory.
 */
export function createStream(
  { first, rest }: ReplyStream,
  { limits, memory }: { readonly limits: Limits; readonly memory: MemoryBudget },
  onEnd: StreamEnd,
): ReadableStream<Uint8Array> {
  const reader = new StreamReader()
  let prepared: IteratorResult<Buffer> | undefined = first
  let release = () => {}
  let isOver = false
  let isReading = true
  const expire = () => (isReading ? reader.destroy() : timer.refresh())
  const timer = setTimeout(expire, limits.answerTimeout).unref()
  const end: StreamEnd = (isWhole, failure) => {
    if (isOver) return
    isOver = true
    clearTimeout(timer)
    release()
    reader.destroy()
    rest.return?.().catch(() => {})
    onEnd(isWhole, failure)
  }
  const source: UnderlyingSource<Uint8Array> = {
    start(controller) {
      reader.once('close', () => {
        if (!isOver) controller.error(new Error('the client reads too slowly'))
        end(false)
      })
    },
    async pull(controller) {
      release()
      isReading = false
      try {
        const { done, value } = prepared ?? (await rest.next())
        prepared = undefined
        isReading = true
        timer.refresh()
        if (isOver) return
        if (done) {
          controller.close()
          end(true)
        } else {
          controller.enqueue(value)
          release = memory.reserveAnswer(reader, value, value.length)
        }
      } catch (error) {
        end(false, error)
        throw error
      }
    },
    cancel: () => end(false),
  }
  return new ReadableStream(source, { highWaterMark: 0 })
}
