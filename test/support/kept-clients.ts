import postgres from 'postgres'
import type { PostgresOptions } from '../../lib/index.ts'

type Driver = NonNullable<PostgresOptions['postgres']>
type Client = ReturnType<Driver>

/**
 * postgres.js, but the next storage gets one connection of a closed one. A new connection takes
 * 10 ms of CPU time, and must plan each statement again. Keeps only one, because tests of
 * concurrent calls expect that the first call has an open connection and the others do not.
 */
export function keepClients() {
  const idle: { readonly client: Client; listener: { onclose(): void } }[] = []
  const driver: Driver = (url, settings) => {
    const kept = idle.pop()
    const holder = kept ?? open(url, settings)
    holder.listener = settings
    let isEnded = false
    return {
      unsafe: (...args) => holder.client.unsafe(...args),
      async end(options) {
        if (isEnded) return
        isEnded = true
        holder.listener = { onclose() {} }
        const isLost = options.timeout === 0
        if (isLost || idle.length > 0) return holder.client.end(options)
        idle.push(holder)
        await holder.client.unsafe('ROLLBACK', [], { prepare: false, simple: true })
      },
    }
  }
  return { driver, close: () => Promise.all(idle.map(({ client }) => client.end({ timeout: 5 }))) }
}

function open(url: string, settings: Parameters<Driver>[1]) {
  const holder = {
    listener: settings as { onclose(): void },
    client: undefined as unknown as Client,
  }
  holder.client = postgres(url, { ...settings, onclose: () => holder.listener.onclose() })
  return holder
}
