import { ERASED } from '../sql/pseudonym.ts'
import { FIXED_IN_AUDIT, IS_ARCHIVED, type SchemaDialect, sharedTables } from '../sql/schema.ts'
import type { Schema } from '../sql/upgrade.ts'
import { VIEWS } from './views.ts'

/** The `PRAGMA application_id` that marks a SQLite file as tillkit's: the letters "till". */
export const APPLICATION_ID = 0x74696c6c

const DIALECT: SchemaDialect = {
  types: {
    text: 'TEXT',
    smallint: 'INTEGER',
    integer: 'INTEGER',
    bigint: 'INTEGER',
    boolean: 'INTEGER',
    json: 'TEXT',
    bytea: 'BLOB',
    timestamptz: 'TEXT',
  },
  seq: 'seq INTEGER PRIMARY KEY',
  longSeq: 'seq INTEGER PRIMARY KEY',
  neverReusedSeq: 'seq INTEGER PRIMARY KEY AUTOINCREMENT',
  thenSeq: '',
  end: ') STRICT',
  keyedEnd: ') STRICT, WITHOUT ROWID',
  own: {
    // The purchases of an import have its number in "import" and lie between first_purchase and,
    // after the commit, last_purchase. AUTOINCREMENT never reuses a number: the former owner of a
    // deleted import must not abort a new one.
    imports: `
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    alive_at INTEGER NOT NULL,
    first_purchase INTEGER NOT NULL,
    last_purchase INTEGER,
    created_at TEXT NOT NULL,`,
    // The entries after the position "read_seq" are unread.
    webhook_endpoints: 'read_seq INTEGER NOT NULL DEFAULT 0,',
  },
}

/** The tables and indexes that only SQLite has. */
const OWN_TABLES = `
  -- A recorded purchase is an import of its own: a store may have a million imports.
  CREATE INDEX imports_store ON imports (store, last_purchase);
  CREATE INDEX status_changes_purchase ON status_changes (purchase);

  -- No foreign keys and no further index: each would cost every row of an import a look-up.
  -- "status" is an index into PURCHASE_STATUSES; "metadata" is null for an empty object.
  CREATE TABLE purchases (
    seq INTEGER PRIMARY KEY,
    import INTEGER NOT NULL,
    transaction_id TEXT NOT NULL,
    item INTEGER NOT NULL,
    purchased_at INTEGER NOT NULL,
    user_id TEXT,
    quantity INTEGER NOT NULL,
    price INTEGER,
    currency TEXT,
    status INTEGER NOT NULL,
    metadata TEXT,
    expires_at INTEGER
  ) STRICT;

  -- Keeps transactions unique in their store. A separate table, because imports fill it later than
  -- the purchases, in blocks sorted by id. Of a deleted purchase, it keeps the id, with purchase 0.
  CREATE TABLE transactions (
    store INTEGER NOT NULL,
    transaction_id TEXT NOT NULL,
    purchase INTEGER NOT NULL,
    PRIMARY KEY (store, transaction_id)
  ) STRICT, WITHOUT ROWID;

  -- The changes of an import to earlier purchases. Visible from its commit on, then moved into the
  -- purchases slice by slice. "filled" has the bits of the columns that the change sets: to a value,
  -- or to null if it is an undo.
  CREATE TABLE purchase_changes (
    purchase INTEGER PRIMARY KEY,
    import INTEGER NOT NULL,
    status INTEGER NOT NULL,
    filled INTEGER NOT NULL DEFAULT 0,
    user_id TEXT,
    price INTEGER,
    currency TEXT,
    expires_at INTEGER
  ) STRICT;
  CREATE INDEX purchase_changes_import ON purchase_changes (import);

  -- Finds the purchases of a user. An import writes it in blocks sorted by "user_key", a hash. An
  -- entry whose purchase has gone or has another user has no effect, because each read compares the
  -- user id of the purchase.
  CREATE TABLE purchase_users (
    user_key INTEGER NOT NULL,
    purchase INTEGER NOT NULL,
    PRIMARY KEY (user_key, purchase)
  ) STRICT, WITHOUT ROWID;
`

const TRIGGERS = `
  ${configTriggers('projects', 'config')}
  ${configTriggers('stores', 'store_config')}
`

const AUDIT_TRIGGERS = Object.entries({
  // new.seq is -1 while SQLite has not chosen the number. REPLACE fires no DELETE trigger.
  audit_no_replace: 'INSERT ON audit WHEN new.seq IN (SELECT seq FROM audit)',
  audit_no_delete: `DELETE ON audit WHEN NOT ${IS_ARCHIVED}`,
  // Not UPDATE OF, which overlooks the other names of "seq", such as "rowid".
  audit_no_update: `UPDATE ON audit WHEN
    ${['seq', ...FIXED_IN_AUDIT].map((name) => `new.${name} IS NOT old.${name}`).join(' OR ')}`,
  audit_no_rename: `UPDATE ON audit WHEN
    new.actor <> old.actor AND instr(new.actor, '${ERASED}') = 0
    OR new.subject <> old.subject AND instr(new.subject, '${ERASED}') = 0`,
}).map(
  ([name, event]) => `
  DROP TRIGGER IF EXISTS ${name};
  CREATE TRIGGER ${name} BEFORE ${event}
    BEGIN SELECT raise(ABORT, 'the audit log is append-only'); END;`,
)

/** Creates the triggers last, because each makes the statements after it slower. */
const create = sharedTables(DIALECT) + OWN_TABLES + TRIGGERS

const ADD_DELIVERIES = `
  CREATE TABLE deliveries (
    store INTEGER NOT NULL,
    transaction_id TEXT NOT NULL,
    purchase INTEGER,
    PRIMARY KEY (store, transaction_id)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX deliveries_waiting ON deliveries (store, purchase) WHERE purchase IS NOT NULL;`

const ADD_FILLS = `
  ALTER TABLE status_changes ADD COLUMN filled INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE purchase_changes ADD COLUMN filled INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE purchase_changes ADD COLUMN user_id TEXT;
  ALTER TABLE purchase_changes ADD COLUMN price INTEGER;
  ALTER TABLE purchase_changes ADD COLUMN currency TEXT;
  ALTER TABLE purchase_changes ADD COLUMN expires_at INTEGER;`

/** Adds the views. */
const ADD_VIEWS = ''

/** Removes the index by project, and AUTOINCREMENT, which writes a row more for each entry. */
const SHRINK_AUDIT = `
  CREATE TABLE new_audit (
    seq INTEGER PRIMARY KEY, at TEXT NOT NULL, actor TEXT NOT NULL, action TEXT NOT NULL,
    subject TEXT NOT NULL, account_id TEXT NOT NULL, project_id TEXT NOT NULL,
    store_id TEXT NOT NULL, request_id TEXT NOT NULL, data TEXT
  ) STRICT;
  INSERT INTO new_audit SELECT seq, at, actor, action, subject, account_id, project_id, store_id,
    request_id, data FROM audit;
  DROP TABLE audit;
  ALTER TABLE new_audit RENAME TO audit;
  CREATE INDEX audit_account ON audit (account_id);
  CREATE INDEX audit_item ON audit (subject)
    WHERE substr(action, 1, 5) = 'item.' AND action <> 'item.create';
  CREATE INDEX audit_replay ON audit (subject) WHERE action = 'webhooks.replay';`

const ADD_KEY_SCOPES = 'ALTER TABLE account_keys ADD COLUMN scopes TEXT'
const ADD_EVENTS = 'ALTER TABLE webhook_endpoints ADD COLUMN events TEXT'
const DROP_AUDIT_HELPERS = `
  DROP TABLE audit_archive;
  DROP TABLE audit_pseudonym;
  CREATE INDEX audit_archives ON audit (subject) WHERE action = 'audit.archive';`

export const SCHEMA: Schema = {
  create,
  steps: [
    ADD_DELIVERIES,
    ADD_FILLS,
    ADD_VIEWS,
    SHRINK_AUDIT,
    ADD_KEY_SCOPES,
    ADD_EVENTS,
    DROP_AUDIT_HELPERS,
  ],
  derived: VIEWS + AUDIT_TRIGGERS.join(''),
}

function configTriggers(table: string, column: string): string {
  const length = (row: string) => `length(CAST(${row}.${column} AS BLOB))`
  const add = (bytes: string) => `
    UPDATE accounts SET config_bytes = config_bytes + ${bytes}
    WHERE account_id = new.account_id;`
  return `
  CREATE TRIGGER ${table}_insert_config AFTER INSERT ON ${table} BEGIN ${add(length('new'))}
  END;
  CREATE TRIGGER ${table}_update_config AFTER UPDATE OF ${column} ON ${table}
    WHEN new.${column} <> old.${column} BEGIN ${add(`${length('new')} - ${length('old')}`)}
  END;`
}
