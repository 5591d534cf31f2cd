/** The `PRAGMA application_id` that marks a SQLite file as tillkit's: the letters "till". */
export const APPLICATION_ID = 0x74696c6c

/**
 * The migrations from an empty file to the current schema. `PRAGMA user_version` counts the
 * completed ones. Never change the statements of a released migration; add a new migration.
 *
 * `seq` numbers records in order of creation and stays inside the database. It is a shorter foreign
 * key than an id.
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

  -- An import is under way while it has an owner. Its purchases are invisible until it has none.
  -- They have its number in "import" and lie between first_purchase and, after the commit,
  -- last_purchase. AUTOINCREMENT never reuses a number: the former owner of a deleted import must
  -- not abort a new one.
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

  -- No foreign keys and no further index: each would cost every row of an import a look-up. "status"
  -- is an index into PURCHASE_STATUSES; "metadata" is null for an empty object.
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

  -- Keeps transactions unique in their store. A separate table, because imports fill it later than
  -- the purchases, in blocks sorted by id.
  CREATE TABLE transactions (
    store INTEGER NOT NULL,
    transaction_id TEXT NOT NULL,
    purchase INTEGER NOT NULL,
    PRIMARY KEY (store, transaction_id)
  ) STRICT, WITHOUT ROWID;

  -- The changes of an import to earlier purchases. Visible from its commit on, then moved into the
  -- purchases slice by slice.
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

  -- The revocation watermarks of a project and of its users ('' for all), in Unix seconds.
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
  -- new.seq is -1 while SQLite has not chosen the number. REPLACE fires no DELETE trigger.
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
  -- Has a row while the file is an unfinished copy.
  CREATE TABLE unfinished_copy (
    began_at TEXT NOT NULL
  ) STRICT;
  `,
  `
  -- AUTOINCREMENT never reuses the numbers of archived entries.
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

  -- The watermark of an archive. Has a row only in the transaction that deletes the entries up to
  -- it. No other transaction sees the row.
  CREATE TABLE audit_archive (
    last_seq INTEGER NOT NULL
  ) STRICT;

  -- new.seq is -1 while SQLite has not chosen the number. REPLACE fires no DELETE trigger.
  CREATE TRIGGER audit_no_replace BEFORE INSERT ON audit WHEN new.seq IN (SELECT seq FROM audit)
    BEGIN SELECT raise(ABORT, 'the audit log is append-only'); END;
  CREATE TRIGGER audit_no_update BEFORE UPDATE ON audit
    BEGIN SELECT raise(ABORT, 'the audit log is append-only'); END;
  CREATE TRIGGER audit_no_delete BEFORE DELETE ON audit
    WHEN NOT EXISTS (SELECT 1 FROM audit_archive WHERE last_seq >= old.seq)
    BEGIN SELECT raise(ABORT, 'the audit log is append-only'); END;
  `,
  `
  -- The bytes of an account's "config" and "store_config" together. Triggers count them, which
  -- includes copies, servers of the previous version and manual changes.
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
  -- "changed" is a random id of the latest change; null while an item has none.
  ALTER TABLE items ADD COLUMN version INTEGER NOT NULL DEFAULT 1;
  ALTER TABLE items ADD COLUMN archived_at TEXT;
  ALTER TABLE items ADD COLUMN changed TEXT;
  CREATE INDEX items_changed ON items (store, version, changed) WHERE version > 1;
  CREATE INDEX items_archived ON items (store) WHERE archived_at IS NOT NULL;

  -- "data" is null for an entry without data.
  ALTER TABLE audit ADD COLUMN project_id TEXT NOT NULL DEFAULT '';
  ALTER TABLE audit ADD COLUMN store_id TEXT NOT NULL DEFAULT '';
  ALTER TABLE audit ADD COLUMN data TEXT;
  `,
  `
  -- Finds the purchases of a user. A separate table, because it is filled after an import's commit,
  -- in blocks sorted by user: an index on "purchases" would dirty a page for each row.
  CREATE TABLE purchase_users (
    store INTEGER NOT NULL,
    user_id TEXT NOT NULL,
    purchase INTEGER NOT NULL,
    PRIMARY KEY (store, user_id, purchase)
  ) STRICT, WITHOUT ROWID;
  CREATE TRIGGER purchases_delete_user AFTER DELETE ON purchases WHEN old.user_id IS NOT NULL BEGIN
    DELETE FROM purchase_users WHERE user_id = old.user_id AND purchase = old.seq
      AND store = (SELECT store FROM imports WHERE seq = old.import);
  END;
  CREATE TRIGGER purchases_update_user AFTER UPDATE OF user_id ON purchases
    WHEN new.user_id IS NOT old.user_id BEGIN
    DELETE FROM purchase_users WHERE user_id = old.user_id AND purchase = old.seq
      AND store = (SELECT store FROM imports WHERE seq = old.import);
    INSERT INTO purchase_users SELECT store, new.user_id, new.seq FROM imports
      WHERE seq = new.import AND new.user_id IS NOT NULL;
  END;

  -- The users of an import's purchases up to this number are in purchase_users.
  ALTER TABLE imports ADD COLUMN users_indexed INTEGER NOT NULL DEFAULT 0;
  CREATE INDEX imports_unindexed ON imports (store)
    WHERE owner IS NULL AND last_purchase > users_indexed;
  -- A recorded purchase is an import of its own, so that a store may have a million.
  DROP INDEX imports_store;
  CREATE INDEX imports_store ON imports (store, last_purchase);
  `,
  `
  -- Null for imports of earlier versions. "undoes" is the import that this row undoes: it holds the
  -- lease and the restored statuses until then, and no purchases.
  ALTER TABLE imports ADD COLUMN actor TEXT;
  ALTER TABLE imports ADD COLUMN file_name TEXT;
  ALTER TABLE imports ADD COLUMN bytes INTEGER;
  ALTER TABLE imports ADD COLUMN sha256 TEXT;
  ALTER TABLE imports ADD COLUMN layout TEXT;
  ALTER TABLE imports ADD COLUMN rows INTEGER;
  ALTER TABLE imports ADD COLUMN added INTEGER;
  ALTER TABLE imports ADD COLUMN skipped INTEGER;
  ALTER TABLE imports ADD COLUMN updated INTEGER;
  ALTER TABLE imports ADD COLUMN passed_over INTEGER;
  ALTER TABLE imports ADD COLUMN totals TEXT;
  ALTER TABLE imports ADD COLUMN finished_at TEXT;
  ALTER TABLE imports ADD COLUMN undone_at TEXT;
  ALTER TABLE imports ADD COLUMN undoes INTEGER;

  -- A list of imports leaves out recorded purchases.
  CREATE INDEX imports_listed ON imports (store, seq)
    WHERE substr(import_id, 1, 4) <> 'rec_';

  -- The statuses that an import changed, for its undo.
  CREATE TABLE status_changes (
    import INTEGER NOT NULL,
    purchase INTEGER NOT NULL,
    before INTEGER NOT NULL,
    after INTEGER NOT NULL,
    PRIMARY KEY (import, purchase)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX status_changes_purchase ON status_changes (purchase);

  -- The number of rows of "earlier" that "import" skipped.
  CREATE TABLE import_overlaps (
    import INTEGER NOT NULL,
    earlier INTEGER NOT NULL,
    rows INTEGER NOT NULL,
    PRIMARY KEY (import, earlier)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX import_overlaps_earlier ON import_overlaps (earlier);
  `,
  `
  -- Purchases whose user was erased. Of a deleted one, "transactions" keeps the id, with purchase 0.
  CREATE TABLE erased_purchases (
    store INTEGER NOT NULL,
    transaction_id TEXT NOT NULL,
    is_deleted INTEGER NOT NULL,
    PRIMARY KEY (store, transaction_id)
  ) STRICT, WITHOUT ROWID;

  -- Has a row only in the transaction that replaces a user's id in the audit log. No other
  -- transaction sees the row.
  CREATE TABLE audit_pseudonym (
    pseudonym TEXT NOT NULL
  ) STRICT;
  DROP TRIGGER audit_no_update;
  CREATE TRIGGER audit_no_update BEFORE UPDATE ON audit
    WHEN NOT EXISTS (SELECT 1 FROM audit_pseudonym
      WHERE (new.actor = old.actor OR instr(new.actor, pseudonym) > 0)
        AND (new.subject = old.subject OR instr(new.subject, pseudonym) > 0))
      OR new.seq <> old.seq OR new.at <> old.at OR new.action <> old.action
      OR new.account_id <> old.account_id OR new.request_id <> old.request_id
      OR new.project_id <> old.project_id OR new.store_id <> old.store_id
      OR new.data IS NOT old.data
    BEGIN SELECT raise(ABORT, 'the audit log is append-only'); END;
  `,
  `
  CREATE INDEX audit_project ON audit (project_id);

  -- "read_seq" is the position: the entries after it are unread. All times are Unix milliseconds.
  CREATE TABLE webhook_endpoints (
    endpoint_id TEXT PRIMARY KEY,
    account_id TEXT NOT NULL REFERENCES accounts (account_id),
    project_id TEXT NOT NULL REFERENCES projects (id),
    store_id TEXT NOT NULL,
    url TEXT NOT NULL,
    secrets TEXT NOT NULL,
    unconfirmed TEXT,
    state TEXT NOT NULL,
    reason TEXT,
    stopped_at INTEGER,
    due_at INTEGER NOT NULL,
    failing_since INTEGER,
    last_failure TEXT,
    read_seq INTEGER NOT NULL DEFAULT 0,
    holder TEXT,
    lease_until INTEGER NOT NULL DEFAULT 0
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX webhook_endpoints_account ON webhook_endpoints (account_id);
  CREATE INDEX webhook_endpoints_project ON webhook_endpoints (project_id);

  -- The delivery log, and the messages that are not delivered yet.
  CREATE TABLE webhook_messages (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    endpoint_id TEXT NOT NULL,
    sequence INTEGER NOT NULL,
    part INTEGER NOT NULL,
    parts INTEGER NOT NULL,
    type TEXT NOT NULL,
    webhook_id TEXT NOT NULL,
    -- The cursor and the number of the records of a part.
    part_range TEXT,
    state TEXT NOT NULL,
    attempts INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    at INTEGER,
    next_at INTEGER NOT NULL,
    holder TEXT,
    status INTEGER,
    error TEXT,
    answer TEXT,
    duration_ms INTEGER,
    UNIQUE (endpoint_id, sequence, part)
  ) STRICT;
  CREATE INDEX webhook_messages_log ON webhook_messages (endpoint_id, seq);
  CREATE INDEX webhook_messages_due ON webhook_messages (endpoint_id, next_at)
    WHERE state = 'waiting';
  CREATE INDEX webhook_messages_next ON webhook_messages (next_at) WHERE state = 'waiting';

  -- Nobody knows who set a URL whose entry was archived: the account confirms it.
  INSERT INTO webhook_endpoints (endpoint_id, account_id, project_id, store_id, url, secrets,
    unconfirmed, state, due_at, read_seq)
  SELECT id, account_id, id, '', iif(is_open, '', url), iif(is_open, '[]', secrets),
    iif(is_open, json_patch(json_object('url', url), coalesce(secrets ->> '$[0]', '{}')), NULL),
    iif(is_open, 'unconfirmed', 'active'), 0, (SELECT coalesce(max(seq), 0) FROM audit)
  FROM (
    SELECT *, config ->> '$.webhook_url' AS url,
      iif(json_type(config, '$.webhook_secret') IN ('text', 'object'),
        json_array(json_object('secret', json_extract(config, '$.webhook_secret'))), '[]')
        AS secrets,
      id IN (SELECT subject FROM audit WHERE action = 'project.update' AND actor LIKE 'token:%')
        OR EXISTS (SELECT 1 FROM audit WHERE action = 'audit.archive') AS is_open
    FROM projects WHERE json_type(config, '$.webhook_url') = 'text');
  INSERT INTO webhook_endpoints (endpoint_id, account_id, project_id, store_id, url, secrets,
    state, due_at, read_seq)
  SELECT project_id || '/' || store_id, account_id, project_id, store_id,
    store_config ->> '$.webhook_url',
    iif(json_type(store_config, '$.webhook_secret') IN ('text', 'object'),
      json_array(json_object('secret', json_extract(store_config, '$.webhook_secret'))), '[]'),
    'active', 0, (SELECT coalesce(max(seq), 0) FROM audit)
  FROM stores WHERE json_type(store_config, '$.webhook_url') = 'text'
    AND json_type(store_config, '$.webhook_enabled') = 'true';

  -- Counts the changes of the tables that the read cache holds.
  CREATE TABLE cache_version (
    version INTEGER NOT NULL
  ) STRICT;
  INSERT INTO cache_version VALUES (0);
  ${cacheTriggers()}
  `,
  `
  -- How far the entry after the position is read; '' for not at all.
  ALTER TABLE webhook_endpoints ADD COLUMN read_rest TEXT NOT NULL DEFAULT '';
  ALTER TABLE webhook_messages DROP COLUMN parts;
  -- The sender examines the endpoints of each account in turn.
  CREATE INDEX webhook_endpoints_active ON webhook_endpoints (account_id, endpoint_id)
    WHERE state = 'active';
  CREATE INDEX webhook_endpoints_unconfirmed ON webhook_endpoints (endpoint_id)
    WHERE unconfirmed IS NOT NULL;
  `,
  `
  -- Finds the purchases of a user. An import writes it in blocks sorted by "user_key", a hash that
  -- users.ts computes: no trigger can. An entry whose purchase has gone or has another user has no
  -- effect, because each read compares the user id of the purchase.
  DROP TRIGGER purchases_delete_user;
  DROP TRIGGER purchases_update_user;
  DROP TABLE purchase_users;
  CREATE TABLE purchase_users (
    user_key INTEGER NOT NULL,
    purchase INTEGER NOT NULL,
    PRIMARY KEY (user_key, purchase)
  ) STRICT, WITHOUT ROWID;
  UPDATE imports SET users_indexed = 0;
  CREATE TRIGGER purchases_update_user AFTER UPDATE OF user_id ON purchases
    WHEN new.user_id IS NOT old.user_id AND new.user_id IS NOT NULL BEGIN
    UPDATE imports SET users_indexed = min(users_indexed, new.seq - 1) WHERE seq = new.import;
  END;
  `,
  `
  -- Finds the changes of an item.
  CREATE INDEX audit_item ON audit (subject) WHERE action IN ('item.update', 'item.archive', 'item.restore');
  `,
  `
  -- Counts and sums of purchases: by day (kind 0, item 0), and by month and item (kind 1). "start" is
  -- the first day, counted from 1970. "import" is 0 for all recorded purchases. "high" and "low" are
  -- the sums of the digits of prices above and below 10^9.
  CREATE TABLE purchase_totals (
    store INTEGER NOT NULL,
    import INTEGER NOT NULL,
    kind INTEGER NOT NULL,
    start INTEGER NOT NULL,
    item INTEGER NOT NULL,
    currency TEXT NOT NULL,
    status INTEGER NOT NULL,
    purchases INTEGER NOT NULL,
    high INTEGER NOT NULL,
    low INTEGER NOT NULL,
    PRIMARY KEY (store, import, kind, start, item, currency, status)
  ) STRICT, WITHOUT ROWID;

  -- An import's purchases up to this number are in purchase_totals. The overview adds the others.
  ALTER TABLE imports ADD COLUMN totalled INTEGER NOT NULL DEFAULT 0;
  CREATE INDEX imports_untotalled ON imports (store) WHERE owner IS NULL AND last_purchase > totalled;

  -- Together with the last visible purchase of a store, tells whether its purchases have changed.
  CREATE TABLE purchase_versions (
    store INTEGER PRIMARY KEY,
    version INTEGER NOT NULL
  ) STRICT;
  ${totalTriggers()}
  `,
  // When a subscription ends, in Unix milliseconds.
  'ALTER TABLE purchases ADD COLUMN expires_at INTEGER;',
  `
  -- A check value of the master key: an HMAC under it. While there is one, no secret is stored
  -- unencrypted.
  CREATE TABLE key_check (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    value TEXT NOT NULL
  ) STRICT;
  `,
  // Finds a replay that an endpoint has not read yet.
  "CREATE INDEX audit_replay ON audit (subject) WHERE action = 'webhooks.replay';",
  `
  ALTER TABLE token_bounds RENAME TO watermarks;
  ALTER TABLE receipts RENAME TO idempotency_records;
  DROP INDEX receipts_expiry;
  CREATE INDEX idempotency_records_expiry ON idempotency_records (expires_at);
  `,
]

function totalTriggers(): string {
  const day = (time: string) => `((${time} + 86400000000000) / 86400000 - 1000000)`
  /** Adds the purchase `row` of an import `i` to the totals, or subtracts it (`sign` -1). */
  const add = (row: string, sign: 1 | -1, from: string) => `
    INSERT INTO purchase_totals
    SELECT i.store, iif(substr(i.import_id, 1, 4) = 'rec_', 0, i.seq), k.kind,
      iif(k.kind = 0, ${day(`${row}.purchased_at`)}, unixepoch(
        ${day(`${row}.purchased_at`)} * 86400, 'unixepoch', 'start of month') / 86400),
      iif(k.kind = 0, 0, ${row}.item), coalesce(${row}.currency, ''), ${row}.status, ${sign},
      ${sign} * coalesce(${row}.price / 1000000000, 0), ${sign} * coalesce(${row}.price % 1000000000, 0)
    FROM imports i, ${from}
    ON CONFLICT DO UPDATE SET purchases = purchases + excluded.purchases,
      high = high + excluded.high, low = low + excluded.low;`
  const kinds = '(SELECT 0 AS kind UNION ALL SELECT 1) k'
  const ofOld = `${kinds} WHERE i.seq = old.import AND i.owner IS NULL AND i.totalled >= old.seq`
  const bump = (store: string) => `
    INSERT INTO purchase_versions VALUES (${store}, 1)
    ON CONFLICT DO UPDATE SET version = version + 1;`
  const storeOfOld = '(SELECT store FROM imports WHERE seq = old.import)'
  return `
  CREATE TRIGGER purchases_update_total AFTER UPDATE OF status ON purchases
    WHEN new.status <> old.status BEGIN ${add('old', -1, ofOld)} ${add('new', 1, ofOld)} END;
  CREATE TRIGGER purchases_delete_total AFTER DELETE ON purchases BEGIN ${add('old', -1, ofOld)} END;
  -- A file's import has totals of its own, which are hidden with it.
  CREATE TRIGGER imports_undo_total AFTER UPDATE OF owner ON imports
    WHEN old.owner IS NULL AND new.owner IS NOT NULL AND substr(new.import_id, 1, 4) = 'rec_' BEGIN
    ${add(
      'p',
      -1,
      `${kinds}, purchases p WHERE i.seq = new.seq AND p.import = new.seq
      AND p.seq BETWEEN new.first_purchase AND min(new.last_purchase, new.totalled)`,
    )}
  END;
  CREATE TRIGGER purchases_update_version AFTER UPDATE OF status, user_id ON purchases BEGIN
    ${bump(storeOfOld)}
  END;
  CREATE TRIGGER purchases_delete_version AFTER DELETE ON purchases
    WHEN (SELECT owner FROM imports WHERE seq = old.import) IS NULL BEGIN ${bump(storeOfOld)} END;
  CREATE TRIGGER imports_update_version AFTER UPDATE OF owner ON imports BEGIN
    ${bump('new.store')}
  END;`
}

function cacheTriggers(): string {
  const tables = ['accounts', 'account_keys', 'projects', 'former_public_keys', 'stores', 'items']
  return [...tables, 'token_bounds']
    .flatMap((table) =>
      ['INSERT', 'UPDATE', 'DELETE'].map(
        (event) => `
  CREATE TRIGGER ${table}_cached_${event.toLowerCase()} AFTER ${event} ON ${table} BEGIN
    UPDATE cache_version SET version = version + 1;
  END;`,
      ),
    )
    .join('')
}
