/** A pause that another function can end early. */
export interface Alarm {
  /** Ends the current wait. If there is none, the next wait ends at once. */
  ring(): void
  /** Waits this many milliseconds, or until `ring` is called. */
  wait(milliseconds: number): Promise<void>
}

export function createAlarm(): Alarm {
  let isRinging = false
  let wake = () => {}
  return {
    ring() {
      isRinging = true
      wake()
    },
    async wait(milliseconds) {
      if (!isRinging) {
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, milliseconds)
          wake = () => {
            clearTimeout(timer)
            resolve()
          }
        })
      }
      isRinging = false
    },
  }
}
