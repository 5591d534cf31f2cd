import {
  accessSync,
  constants,
  mkdirSync,
  readFileSync,
  renameSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import module from 'node:module'
import { basename, dirname, join } from 'node:path'
import { Script } from 'node:vm'

/** Node's loader of CommonJS files. Node 20 does not change any more. */
interface Loader {
  _compile(this: NodeJS.Module, content: string, path: string): unknown
}

/** The bits of a mode that let the group and others write. */
const OTHERS_WRITE = 0o022

/**
 * Keeps the compiled code of the chunks in a folder for the next start, as `module.enableCompileCache`
 * does from Node 22.1 on. Does nothing unless this user owns the folder, and nobody else may write into
 * it. The name of a chunk has a hash of its content. V8 refuses the code of another Node.
 */
export function cacheChunks(folder: string): void {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    accessSync(folder, constants.W_OK)
    const { uid, mode } = statSync(folder)
    if (uid !== process.getuid?.() || (mode & OTHERS_WRITE) !== 0) return
  } catch {
    return
  }
  const compiled = new Map<string, Script>()
  process.once('exit', () => {
    for (const [file, script] of compiled) write(file, script.createCachedData())
  })
  const loader = module.prototype as unknown as Loader
  const compile = loader._compile
  loader._compile = function (content, path) {
    if (!/\bchunk-\w+\.js$/.test(path)) return compile.call(this, content, path)
    const file = join(folder, basename(path))
    const source = `(function (exports, require, module, __filename, __dirname) {${content}\n})`
    const script = new Script(source, { filename: path, cachedData: read(file) })
    if (script.cachedDataRejected !== false) compiled.set(file, script)
    const require = (id: string) => this.require(id)
    const run = script.runInThisContext()
    return run.call(this.exports, this.exports, require, this, path, dirname(path))
  }
}

function read(file: string): Buffer | undefined {
  try {
    return readFileSync(file)
  } catch {
    return undefined
  }
}

/** Replaces a file at once, after an fsync: V8 does not notice damage. */
function write(file: string, content: Buffer): void {
  const partial = `${file}.${process.pid}`
  try {
    writeFileSync(partial, content, { flush: true })
    renameSync(partial, file)
  } catch {} // the next command compiles again
}
