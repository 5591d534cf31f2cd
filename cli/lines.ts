/**
 * Writes the lines of one turn of the event loop together: under load a write for each takes more
 * time than all else that the CLI adds to a request.
 */
export function createLineWriter(stream: NodeJS.WriteStream): (line: string) => void {
  let lines: string[] = []
  const flush = () => {
    if (lines.length > 0) stream.write(`${lines.join('\n')}\n`)
    lines = []
  }
  process.once('exit', flush)
  return (line) => {
    if (lines.length === 0) setImmediate(flush)
    lines.push(line)
  }
}
