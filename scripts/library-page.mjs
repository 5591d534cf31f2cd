// Formats docs/library.md from the types and JSDoc of the sources, and from examples/library.mjs.
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { API } from 'typescript/unstable/sync'
import { code, link, table } from './markdown.mjs'

const OPEN = ['createTill', 'openSqliteStorage', 'openPostgresStorage', 'createMemoryStorage']
const UNLISTED = ['Till', 'Storage'] // without a table of fields
const [CLASS, INTERFACE, OPTIONAL] = [32, 64, 16_777_216] // SymbolFlags
const [NO_TRUNCATION, EXPAND_ALIAS] = [1, 8_388_608]
const OR_UNDEFINED = /^\((\(.*)\) \| undefined$| \| undefined/g // parentheses around a function

/** The page for the sources in the working directory. */
export function formatLibraryPage() {
  const api = new API()
  try {
    const snapshot = api.updateSnapshot({ openProject: resolve('tsconfig.build.json') })
    return formatPage(createReader(snapshot.getProjects()[0]))
  } finally {
    api.close()
  }
}

function formatPage({ exportsOf, fieldsOf, callOf, typeOf, docOf, aliasOf }) {
  const lib = exportsOf('lib/index.ts')
  const http = exportsOf('http/index.ts')
  const all = new Map([...lib, ...http])
  const listed = new Set()

  /** The text of a type, which becomes a link if it is one name. Lists each type that it names. */
  const typeCell = (text) => {
    const names = text.match(/\b[A-Z][a-z]\w+/g) ?? []
    const known = names.filter((name) => all.has(name) && !UNLISTED.includes(name))
    for (const name of known) listed.add(name)
    const [, before, name, after] = /^((?:Promise|AsyncIterable)<|)(\w+)(>?)$/.exec(text) ?? []
    if (name === known[0] && name)
      return `${escapeAngles(before)}${link(name)}${escapeAngles(after)}`
    return code(text.length > 300 && text.startsWith('{') ? 'object' : text)
  }
  const calls = (symbols, prefix = '') => {
    const rows = symbols.map((symbol) => {
      const { parameters, result } = callOf(symbol)
      typeCell(parameters)
      return [code(`${prefix}${symbol.name}${parameters}`), typeCell(result), docOf(symbol)]
    })
    return table(['call', 'returns', 'does'], rows)
  }
  const fields = (symbol) => {
    const rows = fieldsOf(symbol).map(({ symbol, name, flags, type }) => {
      if (!(flags & OPTIONAL)) return [code(name), typeCell(type), docOf(symbol)]
      return [code(`${name}?`), typeCell(type.replace(OR_UNDEFINED, '$1')), docOf(symbol)]
    })
    return table(['field', 'type', 'meaning'], rows)
  }
  const typeSection = (name) => {
    const alias = aliasOf(all.get(name))
    return [`### ${name}`, docOf(all.get(name)), alias ? typeCell(alias) : fields(all.get(name))]
  }

  const members = fieldsOf(all.get('Till'))
  const nouns = members.filter(({ symbol, flags }) => !callOf(symbol) && !(flags & OPTIONAL))
  const functionsOf = (exports) => [...exports.values()].filter(callOf)
  const constants = [...lib.values()].filter(({ name }) => /^[A-Z_]+$/.test(name))
  const constantRows = constants.map((each) => [code(each.name), docOf(each)])
  const sections = [
    section(
      'Open a till',
      '',
      calls(OPEN.map((name) => all.get(name))),
      calls(members.map(({ symbol }) => symbol).filter(callOf), 'till.'),
    ),
    ...nouns.map(({ name, symbol }) => {
      const methods = fieldsOf(typeOf(symbol)).map((each) => each.symbol)
      const title = name[0].toUpperCase() + name.slice(1)
      return section(title, docOf(typeOf(symbol)), calls(methods, `${name}.`))
    }),
    section('Errors', docOf(all.get('TillError')), fields(all.get('TillError'))),
    section('HTTP', 'These functions are exports of `tillkit/http`.', calls(functionsOf(http))),
    section(
      'Other exports',
      '',
      calls(functionsOf(lib).filter(({ name }) => !OPEN.includes(name))),
      table(['constant', 'meaning'], constantRows),
    ),
  ]
  const types = new Map()
  // A section may name further types, which the loop then reaches too.
  for (const name of listed) types.set(name, typeSection(name))
  const names = [...types.keys()].sort()
  return `${[
    '# The library',
    'Which function of `tillkit` does it, what does it take, and what does it return? `npm run docs`\n' +
      'makes this page from the JSDoc of the sources. The examples are one program,\n' +
      '[library.mjs](../examples/library.mjs), which a test runs.',
    '**TypeScript:** install `typescript` (5.7 or later) and `@types/node`. In the `compilerOptions` of\n' +
      '`tsconfig.json`, set `"module": "nodenext"` and `"types": ["node"]`: TypeScript 7 does not find the\n' +
      'types of Node by itself.',
    docOf(all.get('Till')),
    `Contents: ${[...sections.map(([title]) => title.slice(3)), 'Types'].map(link).join(', ')}.`,
    ...sections.flat(),
    '## Types',
    'A `?` behind the name of a field means that the field may be missing or `undefined`.',
    names.map(link).join(', '),
    ...names.flatMap((name) => types.get(name)),
  ]
    .filter(Boolean)
    .join('\n\n')}\n`
}

const escapeAngles = (text) => text.replaceAll(/[<>]/g, '\\$&')

/** A section with its part of the example. */
function section(title, text, ...tables) {
  const examples = readFileSync('examples/library.mjs', 'utf8')
  const [, example] = examples.split(`\n// ## ${title}\n`)
  const block = example && `\`\`\`js\n${example.split('\n// ## ')[0].trim()}\n\`\`\``
  return [`## ${title}`, text, block, ...tables]
}

/** What the page needs to know about the symbols of a project. */
function createReader({ checker, program }) {
  const textOf = (type, flags = 0) => {
    const text = checker.typeToString(type, undefined, NO_TRUNCATION | flags)
    return text.replace(/readonly |<ArrayBufferLike>/g, '')
  }
  const docOf = (symbol) =>
    checker.getDocumentationCommentOfSymbol(symbol).replaceAll(/([^\n])\n(?!\n|- )\s*/g, '$1 ')
  return {
    docOf,
    exportsOf(path) {
      const file = program.getSourceFile(resolve(path))
      const exported = checker.getExportsOfModule(checker.getSymbolAtLocation(file))
      return new Map(exported.map((each) => [each.name, checker.getAliasedSymbol(each)]))
    },
    fieldsOf: (symbol) =>
      checker
        .getPropertiesOfType(checker.getDeclaredTypeOfSymbol(symbol))
        .map((each) => [each, textOf(checker.getTypeOfSymbol(each))])
        .filter(([{ name }, type]) => !name.startsWith('__') && type !== 'undefined')
        .map(([symbol, type]) => ({ symbol, name: symbol.name, flags: symbol.flags, type })),
    typeOf: (symbol) => checker.getTypeOfSymbol(symbol).getSymbol(),
    /** The text of a type that has no fields, such as a union or a function. */
    aliasOf(symbol) {
      const text = textOf(checker.getDeclaredTypeOfSymbol(symbol), EXPAND_ALIAS)
      const hasFields = symbol.flags & (CLASS | INTERFACE) || /^(Omit|Pick|Required|\{)/.test(text)
      return hasFields ? undefined : text
    },
    callOf(symbol) {
      const type = checker.getTypeOfSymbol(symbol)
      const [signature] = type ? checker.getSignaturesOfType(type, 0) : []
      if (!signature) return undefined
      const returned = checker.getReturnTypeOfSignature(signature)
      const parameters = textOf(type).slice(0, -` => ${textOf(returned)}`.length)
      const shown = parameters.replaceAll(/\?: ([\w.<>[\]]+) \| undefined/g, '?: $1')
      return { parameters: shown, result: textOf(returned) }
    },
  }
}
