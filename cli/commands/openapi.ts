import { Readable } from 'node:stream'
import { command } from '../command.ts'
import { serverUrl } from '../option-values.ts'
import { OUT_OPTION } from '../options.ts'
import { createOutputFile } from '../output-file.ts'

export const openapi = command({
  name: 'openapi',
  summary: 'Print the OpenAPI 3.1 document of the HTTP API',
  example: 'tillkit openapi --url https://shop.example --out openapi.json',
  needsNoDatabase: true,
  options: {
    url: {
      value: 'URL',
      parse: serverUrl,
      help: 'the URL of the server, for clients that read the document',
    },
    ...OUT_OPTION,
  },
  async run({ options, io, inputs }) {
    const { url, out } = options
    const { createOpenApi } = await import('../../http/index.ts')
    const document = createOpenApi(url === undefined ? {} : { url })
    const text = `${JSON.stringify(document, null, 2)}\n`
    if (out === undefined) io.stdout.write(text)
    else await createOutputFile({ io, inputs }, '--out', out).write(Readable.from([text]))
  },
})
