/** A cached answer with its ETag. */
export interface CachedAnswer {
  readonly etag: string
  readonly text: string
  readonly link: string | null
}

export interface Cache {
  get(key: string): CachedAnswer | undefined
  set(key: string, answer: CachedAnswer): void
}

/** Characters that an entry counts in addition to its texts, so that the number is bounded too. */
const OVERHEAD = 200

/** Creates an LRU cache that holds `size` characters. */
export function createCache(size: number): Cache {
  const answers = new Map<string, CachedAnswer>()
  let used = 0

  const remove = (key: string, answer: CachedAnswer) => {
    answers.delete(key)
    used -= sizeOf(key, answer)
  }

  return {
    get(key) {
      const answer = answers.get(key)
      if (!answer) return undefined
      answers.delete(key)
      answers.set(key, answer)
      return answer
    },
    set(key, answer) {
      const former = answers.get(key)
      if (former) remove(key, former)
      if (sizeOf(key, answer) > size) return
      answers.set(key, answer)
      used += sizeOf(key, answer)
      for (const [oldest, each] of answers) {
        if (used <= size) return
        remove(oldest, each)
      }
    },
  }
}

function sizeOf(key: string, { text }: CachedAnswer): number {
  return key.length + text.length + OVERHEAD
}
