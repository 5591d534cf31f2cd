import { type Column, type Columns, type ColumnType, omit } from './columns.ts'
import {
  ACCOUNT_KEYS,
  ACCOUNTS,
  AUDIT,
  ENDPOINTS,
  ERASED_PURCHASES,
  FORMER_PUBLIC_KEYS,
  IDEMPOTENCY_RECORDS,
  IMPORT_DETAILS,
  ITEM_ROWS,
  KEY_USES,
  MESSAGES,
  PROJECTS,
  SIGNING_KEYS,
  STORES,
  WATERMARKS,
} from './tables.ts'

/** The condition of audit entries about changes of items, also by actions of later versions. */
export const IS_ITEM_CHANGE = "substr(action, 1, 5) = 'item.' AND action <> 'item.create'"

/** The columns of an audit entry that never change. An erasure may change the other two. */
export const FIXED_IN_AUDIT = omit(AUDIT, 'actor', 'subject').names

/** The condition of an audit entry `old` that an archive run deletes: it names its time first. */
export const IS_ARCHIVED =
  "EXISTS (SELECT 1 FROM audit WHERE action = 'audit.archive' AND subject > old.at)"

/** How a database writes what `sharedTables` needs. */
export interface SchemaDialect {
  readonly types: { readonly [Type in ColumnType]: string }
  /** A primary key that numbers the rows. */
  readonly seq: string
  /** The same, of 64 bits. */
  readonly longSeq: string
  /** The same, and no number is used twice, even if the newest row was deleted. */
  readonly neverReusedSeq: string
  /** Ends the columns of an index. SQLite has the `seq` in every index. */
  readonly thenSeq: ', seq' | ''
  /** Ends a table. */
  readonly end: string
  /** Ends a table whose primary key is not a `seq`. */
  readonly keyedEnd: string
  /** The columns that a table has only in this database. */
  readonly own: {
    readonly imports: string
    readonly webhook_endpoints: string
    readonly stores?: string
    readonly audit?: string
    readonly status_changes?: string
  }
}

/**
 * Creates the tables that both databases have. `seq` numbers records in order of creation and stays
 * inside the database. It is a shorter foreign key than an id.
 */
export function sharedTables(dialect: SchemaDialect): string {
  const { types, seq, longSeq, neverReusedSeq, thenSeq, end, keyedEnd, own } = dialect
  /** The definitions of the columns of a record's table. */
  const columns = <R>(table: { readonly columns: Columns<R> }) =>
    (Object.entries(table.columns) as [string, Column<unknown>][])
      .map(
        ([name, { type, isOptional }]) => `${name} ${types[type]}${isOptional ? '' : ' NOT NULL'}`,
      )
      .join(', ')
  const { text, integer, bigint, smallint } = types
  return `
  CREATE TABLE accounts (
    ${seq}, ${columns(ACCOUNTS)},
    -- The bytes of "config" and "store_config" together. Triggers count them, which includes manual
    -- changes.
    config_bytes ${bigint} NOT NULL DEFAULT 0,
    UNIQUE (account_id)
  ${end};

  CREATE TABLE account_keys (
    ${seq}, ${columns(ACCOUNT_KEYS)},
    UNIQUE (key_id),
    UNIQUE (hash),
    FOREIGN KEY (account_id) REFERENCES accounts (account_id)
  ${end};
  CREATE INDEX account_keys_account ON account_keys (account_id${thenSeq});

  CREATE TABLE key_uses (
    ${columns(KEY_USES)},
    PRIMARY KEY (key_id),
    FOREIGN KEY (key_id) REFERENCES account_keys (key_id)
  ${keyedEnd};

  CREATE TABLE projects (
    ${seq}, ${columns(PROJECTS)},
    UNIQUE (id),
    UNIQUE (public_key),
    FOREIGN KEY (account_id) REFERENCES accounts (account_id)
  ${end};
  CREATE INDEX projects_account ON projects (account_id${thenSeq});

  CREATE TABLE former_public_keys (
    ${seq}, ${columns(FORMER_PUBLIC_KEYS)},
    UNIQUE (public_key),
    FOREIGN KEY (project_id) REFERENCES projects (id)
  ${end};
  CREATE INDEX former_public_keys_project ON former_public_keys (project_id);

  CREATE TABLE stores (
    ${seq}, ${columns(STORES)}, ${own.stores ?? ''}
    UNIQUE (account_id, store_id),
    FOREIGN KEY (account_id) REFERENCES accounts (account_id),
    FOREIGN KEY (project_id) REFERENCES projects (id)
  ${end};
  CREATE INDEX stores_project ON stores (project_id${thenSeq});

  -- "changed" is a random id of the latest change; null while an item has none.
  CREATE TABLE items (
    ${seq}, ${columns(ITEM_ROWS)},
    store ${integer} NOT NULL,
    UNIQUE (id),
    UNIQUE (store, name),
    FOREIGN KEY (store) REFERENCES stores (seq)
  ${end};
  CREATE INDEX items_store ON items (store${thenSeq});
  CREATE INDEX items_changed ON items (store, version, changed) WHERE version > 1;
  CREATE INDEX items_archived ON items (store${thenSeq}) WHERE archived_at IS NOT NULL;

  -- An import is under way while it has an owner. A store has at most one such import. "undoes" is
  -- the import that this row undoes: it holds the lease until then, and no purchases.
  CREATE TABLE imports (
    ${own.imports}
    import_id ${text} NOT NULL,
    store ${integer} NOT NULL,
    owner ${text},
    ${columns(IMPORT_DETAILS)},
    undone_at ${text},
    undoes ${integer},
    UNIQUE (import_id),
    FOREIGN KEY (store) REFERENCES stores (seq)
  ${end};
  CREATE UNIQUE INDEX imports_under_way ON imports (store) WHERE owner IS NOT NULL;
  -- A list of imports leaves out recorded purchases.
  CREATE INDEX imports_listed ON imports (store, seq) WHERE substr(import_id, 1, 4) <> 'rec_';

  -- The statuses that an import changed, and the values that it filled, for its undo. "filled" has
  -- the bits of the columns that were null before (user_id 1, price 2, currency 4, expires_at 8). A
  -- change that only fills has the same status before and after.
  CREATE TABLE status_changes (
    ${own.status_changes ?? ''}
    import ${integer} NOT NULL,
    purchase ${bigint} NOT NULL,
    before ${smallint} NOT NULL,
    after ${smallint} NOT NULL,
    filled ${smallint} NOT NULL DEFAULT 0,
    PRIMARY KEY (import, purchase)
  ${keyedEnd};

  -- The number of rows of "earlier" that "import" skipped or only filled; may be 0 if "earlier" is a recorded
  -- purchase that was committed while "import" ran. If both are the same import, the number of
  -- recorded purchases that repeated a row of it.
  CREATE TABLE import_overlaps (
    import ${integer} NOT NULL,
    earlier ${integer} NOT NULL,
    rows ${bigint} NOT NULL,
    PRIMARY KEY (import, earlier)
  ${keyedEnd};
  CREATE INDEX import_overlaps_earlier ON import_overlaps (earlier);

  -- Purchases whose user was erased, also deleted ones.
  CREATE TABLE erased_purchases (
    store ${integer} NOT NULL, ${columns(ERASED_PURCHASES)},
    PRIMARY KEY (store, transaction_id)
  ${keyedEnd};

  -- The purchases that the game delivers. "purchase" is the "seq" of one that is not delivered yet,
  -- and null once it is delivered. A purchase of an imported file has no row: it counts as delivered.
  CREATE TABLE deliveries (
    store ${integer} NOT NULL,
    transaction_id ${text} NOT NULL,
    purchase ${bigint},
    PRIMARY KEY (store, transaction_id)
  ${keyedEnd};
  CREATE INDEX deliveries_waiting ON deliveries (store, purchase) WHERE purchase IS NOT NULL;

  CREATE TABLE signing_keys (
    ${seq}, ${columns(SIGNING_KEYS)},
    UNIQUE (kid)
  ${end};

  -- A check value of the master key: an HMAC under it. While there is one, no secret is stored
  -- unencrypted.
  CREATE TABLE key_check (
    id ${integer} PRIMARY KEY CHECK (id = 1),
    value ${text} NOT NULL
  ${end};

  -- The revocation watermarks of a project and of its users ('' for all), in Unix seconds.
  CREATE TABLE watermarks (
    ${columns(WATERMARKS)},
    PRIMARY KEY (project_id, user_id),
    FOREIGN KEY (project_id) REFERENCES projects (id)
  ${keyedEnd};

  CREATE TABLE idempotency_records (
    ${columns(IDEMPOTENCY_RECORDS)},
    PRIMARY KEY (account_id, key),
    FOREIGN KEY (account_id) REFERENCES accounts (account_id)
  ${keyedEnd};
  CREATE INDEX idempotency_records_expiry ON idempotency_records (expires_at);

  -- No number is used twice, because the newest entry is never deleted.
  CREATE TABLE audit (
    ${longSeq}, ${columns(AUDIT)}${own.audit ?? ''}
  ${end};
  CREATE INDEX audit_account ON audit (account_id${thenSeq});
  -- Finds the changes of an item.
  CREATE INDEX audit_item ON audit (subject${thenSeq}) WHERE ${IS_ITEM_CHANGE};
  -- Finds a replay that an endpoint has not read yet.
  CREATE INDEX audit_replay ON audit (subject) WHERE action = 'webhooks.replay';

  -- Finds whether an entry is archived.
  CREATE INDEX audit_archives ON audit (subject) WHERE action = 'audit.archive';

  -- "read_rest" is how far the entry after the position is read; '' for not at all. All times are
  -- Unix milliseconds.
  CREATE TABLE webhook_endpoints (
    ${columns(ENDPOINTS)},
    read_rest ${text} NOT NULL DEFAULT '',
    ${own.webhook_endpoints}
    PRIMARY KEY (endpoint_id),
    FOREIGN KEY (account_id) REFERENCES accounts (account_id),
    FOREIGN KEY (project_id) REFERENCES projects (id)
  ${keyedEnd};
  CREATE INDEX webhook_endpoints_account ON webhook_endpoints (account_id);
  CREATE INDEX webhook_endpoints_project ON webhook_endpoints (project_id);
  -- The sender finds the endpoints that have messages to send.
  CREATE INDEX webhook_endpoints_active ON webhook_endpoints (account_id, endpoint_id)
    WHERE state = 'active';
  CREATE INDEX webhook_endpoints_unconfirmed ON webhook_endpoints (endpoint_id)
    WHERE unconfirmed IS NOT NULL;

  -- The process that sends webhooks, and the end of its lease in Unix milliseconds.
  CREATE TABLE webhook_sender (
    id ${integer} PRIMARY KEY CHECK (id = 1),
    holder ${text} NOT NULL,
    lease_until ${bigint} NOT NULL
  ${end};

  -- The delivery log, and the messages that are not delivered yet. "part_range" is the cursor and
  -- the number of the records of a part.
  CREATE TABLE webhook_messages (
    ${neverReusedSeq}, ${columns(MESSAGES)},
    UNIQUE (endpoint_id, sequence, part)
  ${end};
  CREATE INDEX webhook_messages_log ON webhook_messages (endpoint_id, seq);
  CREATE INDEX webhook_messages_due ON webhook_messages (endpoint_id, next_at)
    WHERE state = 'waiting';

  -- Has a row while the database is an unfinished copy.
  CREATE TABLE unfinished_copy (
    began_at ${text} NOT NULL
  ${end};
  `
}
