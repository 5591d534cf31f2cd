/** Whether the process is alive. */
export async function health() {
  return { body: { status: 'ok' } }
}
