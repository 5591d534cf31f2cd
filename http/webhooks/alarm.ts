/** A pause that another function can end early. */
export function createAlarm() {
  let isRinging = false
  let wake = () => {}
  return {
    /** Ends the current wait. If there is none, the next wait ends at once. */
    ring(): void {
      isRinging = true
      wake()
    },
    /** Waits this many milliseconds, or until `ring` is called. */
    async wait(milliseconds: number): Promise<void> {
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
