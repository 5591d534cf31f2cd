const REASONS: { readonly [code: string]: string } = {
  ENOENT: 'there is no such file or directory',
  EACCES: 'this user has no permission',
  EPERM: 'this user has no permission',
  ENOTDIR: 'a part of the path is not a directory',
  EISDIR: 'it is a directory',
  EEXIST: 'it exists already',
  ELOOP: 'it is a symbolic link',
  ENOSPC: 'the disk is full',
  EROFS: 'the disk is read-only',
  EADDRINUSE: 'another program uses this address: choose another --port',
  EADDRNOTAVAIL: 'this machine has no such address',
}

/**
 * Describes the reason and the path of a system error in words. Returns the message of any other
 * error.
 */
export function describeSystemError(error: unknown): string {
  const { code = '', message, path } = error as NodeJS.ErrnoException
  const reason = REASONS[code]
  if (reason === undefined) return message
  const place = path ?? / (\S+:\d+)$/.exec(message)?.[1]
  return `${place ? `${place}: ` : ''}${reason} (${code})`
}
