/**
 * Imports a package that may not be installed. Bundlers do not look for the package, because of the
 * comments and because `name` is a variable.
 */
export function importOptional<Module>(name: string): Promise<Module> {
  return import(/* webpackIgnore: true */ /* turbopackIgnore: true */ /* @vite-ignore */ name)
}
