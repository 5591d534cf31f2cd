/**
 * Imports a package that may not be installed. The comments and the variable `name` keep bundlers
 * from looking for the package.
 */
export function importOptional<Module>(name: string): Promise<Module> {
  return import(/* webpackIgnore: true */ /* turbopackIgnore: true */ /* @vite-ignore */ name)
}
