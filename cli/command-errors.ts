/** The command line is wrong: exit code 2. */
export class UsageError extends Error {}

/** The command ran and found a problem: exit code 1. An empty message prints nothing. */
export class CommandFailure extends Error {}

/** SIGINT (Ctrl-C) cancelled the command: exit code 130, as in a shell. */
export class Interrupted extends Error {}
