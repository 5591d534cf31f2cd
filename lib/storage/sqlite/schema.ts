/** Marks a SQLite file as tillkit's own (`PRAGMA application_id`): the letters "till". */
export const APPLICATION_ID = 0x74696c6c

/**
 * The numbered steps from an empty file to today's schema; `PRAGMA user_version` counts those done.
 * A step that has been released is never edited: a change is a further step.
 *
 * `seq` is a record's place in the order of creation and never leaves the database: it keeps
 * foreign keys and the many rows that hold them short.
 */
export const MIGRATIONS: readonly string[] = [
  `
  CREATE TABLE accounts (
    seq INTEGER PRIMARY KEY,
    account_id TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL,
    created_at TEXT NOT NULL
  ) STRICT;

  CREATE TABLE account_keys (
    key_id TEXT PRIMARY KEY,
    account_id TEXT NOT NULL REFERENCES accounts (account_id),
    hash TEXT NOT NULL UNIQUE,
    created_at TEXT NOT NULL,
    revoked_at TEXT
  ) STRICT;
  CREATE INDEX account_keys_account ON account_keys (account_id);

  CREATE TABLE projects (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    account_id TEXT NOT NULL REFERENCES accounts (account_id),
    name TEXT NOT NULL,
    bundle_id TEXT NOT NULL,
    platform TEXT NOT NULL,
    status TEXT NOT NULL,
    dlscheme TEXT NOT NULL,
    public_key TEXT NOT NULL UNIQUE,
    config TEXT NOT NULL,
    created_at TEXT NOT NULL
  ) STRICT;
  CREATE INDEX projects_account ON projects (account_id);

  CREATE TABLE former_public_keys (
    public_key TEXT PRIMARY KEY,
    project_id TEXT NOT NULL REFERENCES projects (id),
    expires_at TEXT NOT NULL
  ) STRICT;

  CREATE TABLE stores (
    seq INTEGER PRIMARY KEY,
    account_id TEXT NOT NULL REFERENCES accounts (account_id),
    project_id TEXT NOT NULL REFERENCES projects (id),
    store_id TEXT NOT NULL,
    store_type TEXT NOT NULL,
    is_sandbox INTEGER NOT NULL,
    status TEXT NOT NULL,
    store_config TEXT NOT NULL,
    created_at TEXT NOT NULL,
    UNIQUE (account_id, store_id)
  ) STRICT;
  CREATE INDEX stores_project ON stores (project_id);

  CREATE TABLE items (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    store INTEGER NOT NULL REFERENCES stores (seq),
    name TEXT NOT NULL,
    display_name TEXT NOT NULL,
    description TEXT NOT NULL,
    price INTEGER NOT NULL,
    type TEXT NOT NULL,
    metadata TEXT NOT NULL,
    created_at TEXT NOT NULL,
    UNIQUE (store, name)
  ) STRICT;
  CREATE INDEX items_store ON items (store);

  -- An import is under way while it has an owner; its purchases are not seen before it has none.
  -- Its rows are those from first_purchase on (to last_purchase, once it is done) that name it.
  -- AUTOINCREMENT: a number given anew would let one who lost his import abort that of another.
  CREATE TABLE imports (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    import_id TEXT NOT NULL UNIQUE,
    store INTEGER NOT NULL REFERENCES stores (seq),
    owner TEXT,
    alive_at INTEGER NOT NULL,
    first_purchase INTEGER NOT NULL,
    last_purchase INTEGER,
    created_at TEXT NOT NULL
  ) STRICT;
  CREATE INDEX imports_store ON imports (store);
  CREATE UNIQUE INDEX imports_under_way ON imports (store) WHERE owner IS NOT NULL;

  -- No foreign keys and no index beside the order of arrival: each would cost every row of an import
  -- a look-up. "status" is a place in PURCHASE_STATUSES; "metadata" is null for an empty object.
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
    metadata TEXT
  ) STRICT;

  -- The index that keeps transactions unique in their store: a table of its own, because imports
  -- fill it later than the rows, in blocks sorted by id.
  CREATE TABLE transactions (
    store INTEGER NOT NULL,
    transaction_id TEXT NOT NULL,
    purchase INTEGER NOT NULL,
    PRIMARY KEY (store, transaction_id)
  ) STRICT, WITHOUT ROWID;

  -- What an import changes in purchases that were there before. Seen from the moment the import is
  -- done, then moved into the purchases slice by slice.
  CREATE TABLE purchase_changes (
    purchase INTEGER PRIMARY KEY,
    import INTEGER NOT NULL,
    status INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX purchase_changes_import ON purchase_changes (import);

  CREATE TABLE signing_keys (
    seq INTEGER PRIMARY KEY,
    kid TEXT NOT NULL UNIQUE,
    secret BLOB NOT NULL,
    created_at TEXT NOT NULL
  ) STRICT;

  -- Tokens of a project, or of one user ('' for all), that were issued up to a second are revoked.
  CREATE TABLE token_bounds (
    project_id TEXT NOT NULL REFERENCES projects (id),
    user_id TEXT NOT NULL,
    not_after INTEGER NOT NULL,
    PRIMARY KEY (project_id, user_id)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE receipts (
    account_id TEXT NOT NULL REFERENCES accounts (account_id),
    key TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    answer TEXT NOT NULL,
    created_at TEXT NOT NULL,
    expires_at TEXT NOT NULL,
    PRIMARY KEY (account_id, key)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX receipts_expiry ON receipts (expires_at);

  CREATE TABLE audit (
    seq INTEGER PRIMARY KEY,
    at TEXT NOT NULL,
    actor TEXT NOT NULL,
    action TEXT NOT NULL,
    subject TEXT NOT NULL,
    account_id TEXT NOT NULL,
    request_id TEXT NOT NULL
  ) STRICT;
  CREATE INDEX audit_account ON audit (account_id);
  -- Before an INSERT, a number that SQLite is still to choose is -1. REPLACE fires no DELETE trigger.
  CREATE TRIGGER audit_no_replace BEFORE INSERT ON audit WHEN new.seq IN (SELECT seq FROM audit)
    BEGIN SELECT raise(ABORT, 'the audit log is append-only'); END;
  CREATE TRIGGER audit_no_update BEFORE UPDATE ON audit
    BEGIN SELECT raise(ABORT, 'the audit log is append-only'); END;
  CREATE TRIGGER audit_no_delete BEFORE DELETE ON audit
    BEGIN SELECT raise(ABORT, 'the audit log is append-only'); END;
  `,
  `
  -- Unix milliseconds.
  CREATE TABLE rate_buckets (
    bucket TEXT PRIMARY KEY,
    full_at REAL NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX rate_buckets_full ON rate_buckets (full_at);
  `,
  `
  -- Has a row while the file is a copy that is not whole.
  CREATE TABLE unfinished_copy (
    began_at TEXT NOT NULL
  ) STRICT;
  `,
  `
  -- AUTOINCREMENT: the numbers of entries that were archived are not given anew.
  CREATE TABLE numbered_audit (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    at TEXT NOT NULL,
    actor TEXT NOT NULL,
    action TEXT NOT NULL,
    subject TEXT NOT NULL,
    account_id TEXT NOT NULL,
    request_id TEXT NOT NULL
  ) STRICT;
  INSERT INTO numbered_audit SELECT * FROM audit ORDER BY seq;
  DROP TABLE audit;
  ALTER TABLE numbered_audit RENAME TO audit;
  CREATE INDEX audit_account ON audit (account_id);

  -- The watermark of an archive: has a row only within the transaction that deletes the entries up
  -- to it. No other transaction sees the row.
  CREATE TABLE audit_archive (
    last_seq INTEGER NOT NULL
  ) STRICT;

  -- Before an INSERT, a number that SQLite is still to choose is -1. REPLACE fires no DELETE trigger.
  CREATE TRIGGER audit_no_replace BEFORE INSERT ON audit WHEN new.seq IN (SELECT seq FROM audit)
    BEGIN SELECT raise(ABORT, 'the audit log is append-only'); END;
  CREATE TRIGGER audit_no_update BEFORE UPDATE ON audit
    BEGIN SELECT raise(ABORT, 'the audit log is append-only'); END;
  CREATE TRIGGER audit_no_delete BEFORE DELETE ON audit
    WHEN NOT EXISTS (SELECT 1 FROM audit_archive WHERE last_seq >= old.seq)
    BEGIN SELECT raise(ABORT, 'the audit log is append-only'); END;
  `,
  `
  -- Bytes of "config" and "store_config" of an account together. Triggers count them, so that copies,
  -- servers of the version before and changes by hand are counted too.
  ALTER TABLE accounts ADD COLUMN config_bytes INTEGER NOT NULL DEFAULT 0;
  UPDATE accounts SET config_bytes =
    (SELECT coalesce(sum(length(CAST(config AS BLOB))), 0) FROM projects p
      WHERE p.account_id = accounts.account_id) +
    (SELECT coalesce(sum(length(CAST(store_config AS BLOB))), 0) FROM stores s
      WHERE s.account_id = accounts.account_id);
  CREATE TRIGGER projects_insert_config AFTER INSERT ON projects BEGIN
    UPDATE accounts SET config_bytes = config_bytes + length(CAST(new.config AS BLOB))
    WHERE account_id = new.account_id;
  END;
  CREATE TRIGGER projects_update_config AFTER UPDATE OF config ON projects
    WHEN new.config <> old.config BEGIN
    UPDATE accounts SET config_bytes = config_bytes
      + length(CAST(new.config AS BLOB)) - length(CAST(old.config AS BLOB))
    WHERE account_id = new.account_id;
  END;
  CREATE TRIGGER stores_insert_config AFTER INSERT ON stores BEGIN
    UPDATE accounts SET config_bytes = config_bytes + length(CAST(new.store_config AS BLOB))
    WHERE account_id = new.account_id;
  END;
  CREATE TRIGGER stores_update_config AFTER UPDATE OF store_config ON stores
    WHEN new.store_config <> old.store_config BEGIN
    UPDATE accounts SET config_bytes = config_bytes
      + length(CAST(new.store_config AS BLOB)) - length(CAST(old.store_config AS BLOB))
    WHERE account_id = new.account_id;
  END;
  CREATE INDEX former_public_keys_project ON former_public_keys (project_id);
  `,
  `
  ALTER TABLE receipts RENAME TO idempotency_records;
  DROP INDEX receipts_expiry;
  CREATE INDEX idempotency_records_expiry ON idempotency_records (expires_at);
  `,
]
