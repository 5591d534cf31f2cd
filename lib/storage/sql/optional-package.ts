/**
 * Loads a package that may not be installed, or a module that this Node may lack. Bundlers do not
 * find `createRequire` through `getBuiltinModule`, and therefore do not look for the package.
 */
export function requireOptional<Module>(name: string): Module {
  const { createRequire } = process.getBuiltinModule('node:module')
  return createRequire(import.meta.url ?? __filename)(name) // a CommonJS bundle has no URL
}
