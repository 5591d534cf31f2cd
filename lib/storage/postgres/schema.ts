/** The first key of the advisory lock of a store's totals. The second key is the store's `seq`. */
export const TOTALS_LOCK = 0x746f7461

/**
 * The migrations from an empty schema to the current one. `tillkit_migrations` lists the completed
 * ones. Never change the statements of a released migration; add a new migration.
 *
 * `seq` numbers records in order of creation and stays inside the database. It is a shorter foreign
 * key than an id. COLLATE "C" compares ids byte by byte in every database. Free-form objects are
 * `json`, because `jsonb` would reorder their keys.
 */
export const MIGRATIONS: readonly string[] = [
  `
  CREATE TABLE tillkit_migrations (
    version integer PRIMARY KEY,
    done_at timestamptz NOT NULL DEFAULT now()
  );

  CREATE TABLE accounts (
    seq integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    account_id text COLLATE "C" NOT NULL UNIQUE,
    name text NOT NULL,
    created_at text NOT NULL
  );

  CREATE TABLE account_keys (
    seq integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    key_id text COLLATE "C" NOT NULL UNIQUE,
    account_id text COLLATE "C" NOT NULL REFERENCES accounts (account_id),
    hash text COLLATE "C" NOT NULL UNIQUE,
    created_at text NOT NULL,
    revoked_at text
  );
  CREATE INDEX account_keys_account ON account_keys (account_id, seq);

  CREATE TABLE projects (
    seq integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id text COLLATE "C" NOT NULL UNIQUE,
    account_id text COLLATE "C" NOT NULL REFERENCES accounts (account_id),
    name text NOT NULL,
    bundle_id text NOT NULL,
    platform text NOT NULL,
    status text NOT NULL,
    dlscheme text NOT NULL,
    public_key text COLLATE "C" NOT NULL UNIQUE,
    config json NOT NULL,
    created_at text NOT NULL
  );
  CREATE INDEX projects_account ON projects (account_id, seq);

  CREATE TABLE former_public_keys (
    seq integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    public_key text COLLATE "C" NOT NULL UNIQUE,
    project_id text COLLATE "C" NOT NULL REFERENCES projects (id),
    expires_at text COLLATE "C" NOT NULL
  );
  CREATE INDEX former_public_keys_project ON former_public_keys (project_id);

  -- A store's purchases after last_purchase belong to an import under way and are invisible.
  CREATE TABLE stores (
    seq integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    account_id text COLLATE "C" NOT NULL REFERENCES accounts (account_id),
    project_id text COLLATE "C" NOT NULL REFERENCES projects (id),
    store_id text COLLATE "C" NOT NULL,
    store_type text NOT NULL,
    is_sandbox boolean NOT NULL,
    status text NOT NULL,
    store_config json NOT NULL,
    created_at text NOT NULL,
    last_purchase bigint NOT NULL DEFAULT 0,
    UNIQUE (account_id, store_id)
  );
  CREATE INDEX stores_project ON stores (project_id, seq);

  CREATE TABLE items (
    seq integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id text COLLATE "C" NOT NULL UNIQUE,
    store integer NOT NULL REFERENCES stores (seq),
    name text COLLATE "C" NOT NULL,
    display_name text NOT NULL,
    description text NOT NULL,
    price bigint NOT NULL,
    type text NOT NULL,
    metadata json NOT NULL,
    created_at text NOT NULL,
    UNIQUE (store, name)
  );
  CREATE INDEX items_store ON items (store, seq);

  -- An import is under way while it has an owner. A store has at most one such import.
  CREATE TABLE imports (
    seq integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    import_id text COLLATE "C" NOT NULL UNIQUE,
    store integer NOT NULL REFERENCES stores (seq),
    owner text,
    alive_at timestamptz NOT NULL DEFAULT now(),
    created_at timestamptz NOT NULL DEFAULT now()
  );
  CREATE UNIQUE INDEX imports_under_way ON imports (store) WHERE owner IS NOT NULL;

  -- "seq" counts within the store. No foreign keys: each would cost every row of an import a look-up.
  -- "status" is an index into PURCHASE_STATUSES; "metadata" is null for an empty object.
  CREATE TABLE purchases (
    store integer NOT NULL,
    import integer NOT NULL,
    seq bigint NOT NULL,
    purchased_at bigint NOT NULL,
    price bigint,
    item integer NOT NULL,
    quantity integer NOT NULL,
    status smallint NOT NULL,
    transaction_id text COLLATE "C" NOT NULL,
    user_id text COLLATE "C",
    currency text COLLATE "C",
    metadata json,
    PRIMARY KEY (store, seq),
    CONSTRAINT purchases_transaction UNIQUE (store, transaction_id)
  );

  -- The new statuses that an import under way gives to earlier purchases.
  CREATE TABLE purchase_changes (
    store integer NOT NULL,
    purchase bigint NOT NULL,
    status smallint NOT NULL,
    PRIMARY KEY (store, purchase)
  );

  CREATE TABLE signing_keys (
    seq integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    kid text COLLATE "C" NOT NULL UNIQUE,
    secret bytea NOT NULL,
    created_at text NOT NULL
  );

  -- The revocation watermarks of a project and of its users ('' for all), in Unix seconds.
  CREATE TABLE token_bounds (
    project_id text COLLATE "C" NOT NULL REFERENCES projects (id),
    user_id text COLLATE "C" NOT NULL,
    not_after bigint NOT NULL,
    PRIMARY KEY (project_id, user_id)
  );

  CREATE TABLE receipts (
    account_id text COLLATE "C" NOT NULL REFERENCES accounts (account_id),
    key text COLLATE "C" NOT NULL,
    fingerprint text NOT NULL,
    answer text NOT NULL,
    created_at text COLLATE "C" NOT NULL,
    expires_at text COLLATE "C" NOT NULL,
    PRIMARY KEY (account_id, key)
  );
  CREATE INDEX receipts_expiry ON receipts (expires_at);

  CREATE TABLE audit (
    seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at text NOT NULL,
    actor text NOT NULL,
    action text NOT NULL,
    subject text NOT NULL,
    account_id text COLLATE "C" NOT NULL,
    request_id text NOT NULL
  );
  CREATE INDEX audit_account ON audit (account_id, seq);
  CREATE FUNCTION refuse_audit_change() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN RAISE 'the audit log is append-only'; END $$;
  CREATE TRIGGER audit_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON audit
    EXECUTE FUNCTION refuse_audit_change();
  `,
  `
  -- Unix milliseconds. Unlogged: written each second, and not needed after a crash.
  CREATE UNLOGGED TABLE rate_buckets (
    bucket text COLLATE "C" PRIMARY KEY,
    full_at double precision NOT NULL
  );
  CREATE INDEX rate_buckets_full ON rate_buckets (full_at);
  `,
  `
  -- Has a row while the database is an unfinished copy.
  CREATE TABLE unfinished_copy (
    began_at timestamptz NOT NULL DEFAULT now()
  );
  `,
  `
  -- The watermark of an archive. Has a row only in the transaction that deletes the entries up to
  -- it. No other transaction sees the row.
  CREATE TABLE audit_archive (
    last_seq bigint NOT NULL
  );
  CREATE FUNCTION refuse_audit_deletion() RETURNS trigger LANGUAGE plpgsql
    SET search_path FROM CURRENT AS $$
    BEGIN
      IF EXISTS (SELECT 1 FROM audit_archive WHERE last_seq >= OLD.seq) THEN RETURN OLD; END IF;
      RAISE 'the audit log is append-only';
    END $$;
  DROP TRIGGER audit_append_only ON audit;
  CREATE TRIGGER audit_append_only BEFORE UPDATE OR TRUNCATE ON audit
    EXECUTE FUNCTION refuse_audit_change();
  CREATE TRIGGER audit_no_delete BEFORE DELETE ON audit
    FOR EACH ROW EXECUTE FUNCTION refuse_audit_deletion();
  `,
  `
  -- The bytes of an account's "config" and "store_config" together. Triggers count them, which
  -- includes copies, servers of the previous version and manual changes.
  LOCK TABLE projects, stores IN SHARE ROW EXCLUSIVE MODE;
  ALTER TABLE accounts ADD COLUMN config_bytes bigint NOT NULL DEFAULT 0;
  CREATE FUNCTION count_config_bytes() RETURNS trigger LANGUAGE plpgsql
    SET search_path FROM CURRENT AS $$
    DECLARE
      added bigint;
    BEGIN
      IF TG_TABLE_NAME = 'projects' THEN
        added := octet_length(new.config::text);
        IF TG_OP = 'UPDATE' THEN added := added - octet_length(old.config::text); END IF;
      ELSE
        added := octet_length(new.store_config::text);
        IF TG_OP = 'UPDATE' THEN added := added - octet_length(old.store_config::text); END IF;
      END IF;
      IF added <> 0 THEN
        UPDATE accounts SET config_bytes = config_bytes + added WHERE account_id = new.account_id;
      END IF;
      RETURN NULL;
    END $$;
  CREATE TRIGGER projects_config_bytes AFTER INSERT OR UPDATE OF config ON projects
    FOR EACH ROW EXECUTE FUNCTION count_config_bytes();
  CREATE TRIGGER stores_config_bytes AFTER INSERT OR UPDATE OF store_config ON stores
    FOR EACH ROW EXECUTE FUNCTION count_config_bytes();
  UPDATE accounts SET config_bytes =
    (SELECT coalesce(sum(octet_length(config::text)), 0) FROM projects p
      WHERE p.account_id = accounts.account_id) +
    (SELECT coalesce(sum(octet_length(store_config::text)), 0) FROM stores s
      WHERE s.account_id = accounts.account_id);
  `,
  `
  -- "changed" is a random id of the latest change; null while an item has none.
  ALTER TABLE items
    ADD COLUMN version bigint NOT NULL DEFAULT 1,
    ADD COLUMN archived_at text,
    ADD COLUMN changed text COLLATE "C";
  CREATE INDEX items_changed ON items (store, version, changed) WHERE version > 1;
  CREATE INDEX items_archived ON items (store, seq) WHERE archived_at IS NOT NULL;

  -- "data" is null for an entry without data. "xid" is the writing transaction: snapshots compare
  -- it, which tells a reader exactly which entries have been committed since.
  ALTER TABLE audit
    ADD COLUMN project_id text COLLATE "C" NOT NULL DEFAULT '',
    ADD COLUMN store_id text COLLATE "C" NOT NULL DEFAULT '',
    ADD COLUMN data json,
    ADD COLUMN xid xid8 NOT NULL DEFAULT pg_current_xact_id();
  CREATE INDEX audit_xid ON audit (xid, seq);
  `,
  `
  -- Finds the purchases of a user, in order.
  CREATE INDEX purchases_user ON purchases (store, user_id, seq) WHERE user_id IS NOT NULL;
  `,
  `
  -- Null for imports of earlier versions. "undoes" is the import that this row undoes: it holds the
  -- lease until then, and no purchases.
  ALTER TABLE imports
    ADD COLUMN first_purchase bigint,
    ADD COLUMN last_purchase bigint,
    ADD COLUMN actor text,
    ADD COLUMN file_name text,
    ADD COLUMN bytes bigint,
    ADD COLUMN sha256 text,
    ADD COLUMN layout text,
    ADD COLUMN rows bigint,
    ADD COLUMN added bigint,
    ADD COLUMN skipped bigint,
    ADD COLUMN updated bigint,
    ADD COLUMN passed_over bigint,
    ADD COLUMN totals json,
    ADD COLUMN finished_at text,
    ADD COLUMN undone_at text,
    ADD COLUMN undoes integer;

  -- A list of imports leaves out recorded purchases.
  CREATE INDEX imports_listed ON imports (store, seq)
    WHERE substr(import_id, 1, 4) <> 'rec_';

  -- The statuses that an import changed, for its undo.
  CREATE TABLE status_changes (
    store integer NOT NULL,
    import integer NOT NULL,
    purchase bigint NOT NULL,
    before smallint NOT NULL,
    after smallint NOT NULL,
    PRIMARY KEY (import, purchase)
  );
  CREATE INDEX status_changes_purchase ON status_changes (store, purchase);

  -- The number of rows of "earlier" that "import" skipped.
  CREATE TABLE import_overlaps (
    import integer NOT NULL,
    earlier integer NOT NULL,
    rows bigint NOT NULL,
    PRIMARY KEY (import, earlier)
  );
  CREATE INDEX import_overlaps_earlier ON import_overlaps (earlier);
  `,
  `
  -- Purchases whose user was erased, also deleted ones.
  CREATE TABLE erased_purchases (
    store integer NOT NULL,
    transaction_id text COLLATE "C" NOT NULL,
    is_deleted boolean NOT NULL,
    PRIMARY KEY (store, transaction_id)
  );

  -- Has a row only in the transaction that replaces a user's id in the audit log. No other
  -- transaction sees the row.
  CREATE TABLE audit_pseudonym (
    pseudonym text NOT NULL
  );
  CREATE FUNCTION refuse_audit_update() RETURNS trigger LANGUAGE plpgsql
    SET search_path FROM CURRENT AS $$
    BEGIN
      IF EXISTS (SELECT 1 FROM audit_pseudonym
          WHERE (NEW.actor = OLD.actor OR strpos(NEW.actor, pseudonym) > 0)
            AND (NEW.subject = OLD.subject OR strpos(NEW.subject, pseudonym) > 0))
        AND (NEW.seq, NEW.at, NEW.action, NEW.account_id, NEW.request_id, NEW.project_id,
            NEW.store_id, NEW.xid)
          = (OLD.seq, OLD.at, OLD.action, OLD.account_id, OLD.request_id, OLD.project_id,
            OLD.store_id, OLD.xid)
        AND NEW.data::text IS NOT DISTINCT FROM OLD.data::text
      THEN RETURN NEW; END IF;
      RAISE 'the audit log is append-only';
    END $$;
  CREATE OR REPLACE FUNCTION refuse_audit_change() RETURNS trigger LANGUAGE plpgsql
    SET search_path FROM CURRENT AS $$
    BEGIN
      IF TG_OP = 'UPDATE' AND EXISTS (SELECT 1 FROM audit_pseudonym) THEN RETURN NULL; END IF;
      RAISE 'the audit log is append-only';
    END $$;
  CREATE TRIGGER audit_no_update BEFORE UPDATE ON audit
    FOR EACH ROW EXECUTE FUNCTION refuse_audit_update();
  `,
  `
  CREATE INDEX audit_project ON audit (project_id, xid, seq);

  -- The entries after the position "(read_xid, read_seq)" are unread. All times are Unix
  -- milliseconds.
  CREATE TABLE webhook_endpoints (
    endpoint_id text COLLATE "C" PRIMARY KEY,
    account_id text COLLATE "C" NOT NULL REFERENCES accounts (account_id),
    project_id text COLLATE "C" NOT NULL REFERENCES projects (id),
    store_id text COLLATE "C" NOT NULL,
    url text NOT NULL,
    secrets json NOT NULL,
    unconfirmed json,
    state text NOT NULL,
    reason text,
    stopped_at bigint,
    due_at bigint NOT NULL,
    failing_since bigint,
    last_failure json,
    read_xid xid8 NOT NULL DEFAULT pg_current_xact_id(),
    read_seq bigint NOT NULL DEFAULT 9007199254740991,
    holder text,
    lease_until bigint NOT NULL DEFAULT 0
  );
  CREATE INDEX webhook_endpoints_account ON webhook_endpoints (account_id);
  CREATE INDEX webhook_endpoints_project ON webhook_endpoints (project_id);

  -- The delivery log, and the messages that are not delivered yet.
  CREATE TABLE webhook_messages (
    seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    endpoint_id text COLLATE "C" NOT NULL,
    sequence bigint NOT NULL,
    part integer NOT NULL,
    parts integer NOT NULL,
    type text NOT NULL,
    webhook_id text NOT NULL,
    -- The cursor and the number of the records of a part.
    part_range text,
    state text NOT NULL,
    attempts integer NOT NULL,
    created_at bigint NOT NULL,
    at bigint,
    next_at bigint NOT NULL,
    holder text,
    status integer,
    error text,
    answer text,
    duration_ms bigint,
    UNIQUE (endpoint_id, sequence, part)
  );
  CREATE INDEX webhook_messages_log ON webhook_messages (endpoint_id, seq);
  CREATE INDEX webhook_messages_due ON webhook_messages (endpoint_id, next_at)
    WHERE state = 'waiting';
  CREATE INDEX webhook_messages_next ON webhook_messages (next_at) WHERE state = 'waiting';

  -- Nobody knows who set a URL whose entry was archived: the account confirms it.
  INSERT INTO webhook_endpoints (endpoint_id, account_id, project_id, store_id, url, secrets,
    unconfirmed, state, due_at)
  SELECT id, account_id, id, '', CASE WHEN is_open THEN '' ELSE config ->> 'webhook_url' END,
    CASE WHEN is_open OR secret IS NULL THEN '[]'
      ELSE json_build_array(json_build_object('secret', secret)) END,
    CASE WHEN NOT is_open THEN NULL
      WHEN secret IS NULL THEN json_build_object('url', config ->> 'webhook_url')
      ELSE json_build_object('url', config ->> 'webhook_url', 'secret', secret) END,
    CASE WHEN is_open THEN 'unconfirmed' ELSE 'active' END, 0
  FROM (
    SELECT *, CASE WHEN json_typeof(config -> 'webhook_secret') IN ('string', 'object')
        THEN config -> 'webhook_secret' END AS secret,
      id IN (SELECT subject FROM audit WHERE action = 'project.update' AND actor LIKE 'token:%')
        OR EXISTS (SELECT 1 FROM audit WHERE action = 'audit.archive') AS is_open
    FROM projects WHERE json_typeof(config -> 'webhook_url') = 'string') p;
  INSERT INTO webhook_endpoints (endpoint_id, account_id, project_id, store_id, url, secrets,
    state, due_at)
  SELECT project_id || '/' || store_id, account_id, project_id, store_id,
    store_config ->> 'webhook_url',
    CASE WHEN json_typeof(store_config -> 'webhook_secret') IN ('string', 'object')
      THEN json_build_array(json_build_object('secret', store_config -> 'webhook_secret'))
      ELSE '[]' END, 'active', 0
  FROM stores WHERE json_typeof(store_config -> 'webhook_url') = 'string'
    AND store_config ->> 'webhook_enabled' = 'true';
  `,
  `
  -- How far the entry after the position is read; '' for not at all.
  ALTER TABLE webhook_endpoints ADD COLUMN read_rest text NOT NULL DEFAULT '';
  ALTER TABLE webhook_messages DROP COLUMN parts;
  -- The sender examines the endpoints of each account in turn.
  CREATE INDEX webhook_endpoints_active ON webhook_endpoints (account_id, endpoint_id)
    WHERE state = 'active';
  CREATE INDEX webhook_endpoints_unconfirmed ON webhook_endpoints (endpoint_id)
    WHERE unconfirmed IS NOT NULL;
  `,
  `
  -- Finds the changes of an item.
  CREATE INDEX audit_item ON audit (subject, seq) WHERE action IN ('item.update', 'item.archive', 'item.restore');
  `,
  `
  -- An endpoint that starts at the newest entry reads from the oldest open transaction on, because
  -- that may still commit entries. It skips the entries that "started" saw, and those of its own
  -- transaction "started_by".
  ALTER TABLE webhook_endpoints
    ADD COLUMN started pg_snapshot,
    ADD COLUMN started_by xid8;
  `,
  `
  -- Counts and sums of purchases: by day (kind 0, item 0), and by month and item (kind 1). "start" is
  -- the first day, counted from 1970. "import" is 0 for all recorded purchases.
  CREATE TABLE purchase_totals (
    store integer NOT NULL,
    kind smallint NOT NULL,
    start integer NOT NULL,
    import integer NOT NULL,
    item integer NOT NULL,
    currency text COLLATE "C" NOT NULL,
    status smallint NOT NULL,
    purchases bigint NOT NULL,
    price numeric NOT NULL,
    PRIMARY KEY (store, kind, start, import, item, currency, status)
  );

  -- A store's purchases up to "last" are in purchase_totals. The overview adds the others.
  CREATE TABLE totalled_purchases (
    store integer PRIMARY KEY,
    last bigint NOT NULL
  );

  -- Together with the last visible purchase of a store, tells whether its purchases have changed.
  CREATE TABLE purchase_versions (
    store integer PRIMARY KEY,
    version bigint NOT NULL
  );

  -- Waits while purchases of the store are added to the totals. The next statement then sees them.
  CREATE FUNCTION change_totals() RETURNS trigger LANGUAGE plpgsql
    SET search_path FROM CURRENT AS $$
    BEGIN
      PERFORM pg_advisory_xact_lock_shared(${TOTALS_LOCK}, store)
        FROM (SELECT DISTINCT store FROM before ORDER BY store) s;
      IF TG_OP = 'UPDATE' THEN
        ${totalChange('(SELECT -1 AS sign, b.* FROM before b UNION ALL SELECT 1, a.* FROM after a)')}
      ELSE
        ${totalChange('(SELECT -1 AS sign, b.* FROM before b)')}
      END IF;
      INSERT INTO purchase_versions AS v SELECT DISTINCT store, 1 FROM before
        ON CONFLICT (store) DO UPDATE SET version = v.version + 1;
      RETURN NULL;
    END $$;
  CREATE TRIGGER purchases_update_total AFTER UPDATE ON purchases
    REFERENCING OLD TABLE AS before NEW TABLE AS after
    FOR EACH STATEMENT EXECUTE FUNCTION change_totals();
  CREATE TRIGGER purchases_delete_total AFTER DELETE ON purchases
    REFERENCING OLD TABLE AS before
    FOR EACH STATEMENT EXECUTE FUNCTION change_totals();

  -- A file's import has totals of its own, which are hidden with it.
  CREATE FUNCTION undo_totals() RETURNS trigger LANGUAGE plpgsql
    SET search_path FROM CURRENT AS $$
    BEGIN
      PERFORM pg_advisory_xact_lock_shared(${TOTALS_LOCK}, new.store);
      IF substr(new.import_id, 1, 4) = 'rec_' THEN
        ${totalChange(
          `(SELECT -1 AS sign, r.* FROM purchases r WHERE r.store = new.store AND r.import = new.seq
          AND r.seq >= new.first_purchase AND r.seq <= new.last_purchase)`,
          '',
        )}
      END IF;
      INSERT INTO purchase_versions AS v VALUES (new.store, 1)
        ON CONFLICT (store) DO UPDATE SET version = v.version + 1;
      RETURN NULL;
    END $$;
  CREATE TRIGGER imports_undo_total AFTER UPDATE OF undone_at ON imports FOR EACH ROW
    WHEN (old.undone_at IS NULL AND new.undone_at IS NOT NULL)
    EXECUTE FUNCTION undo_totals();
  `,
  // When a subscription ends, in Unix milliseconds.
  'ALTER TABLE purchases ADD COLUMN expires_at bigint;',
  `
  -- A check value of the master key: an HMAC under it. While there is one, no secret is stored
  -- unencrypted.
  CREATE TABLE key_check (
    id integer PRIMARY KEY CHECK (id = 1),
    value text NOT NULL
  );
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

/**
 * Adds purchases to the totals (`sign` 1) or subtracts them (-1), if the totals cover their `seq`.
 */
function totalChange(purchases: string, condition = 'AND i.undone_at IS NULL'): string {
  const day = '((p.purchased_at + 86400000000000) / 86400000 - 1000000)'
  const month = `(date_trunc('month', to_timestamp(${day} * 86400) AT TIME ZONE 'UTC')::date
          - DATE '1970-01-01')`
  return `INSERT INTO purchase_totals AS t
          (store, kind, start, import, item, currency, status, purchases, price)
        SELECT p.store, kind, CASE kind WHEN 0 THEN ${day} ELSE ${month} END,
          CASE WHEN substr(i.import_id, 1, 4) = 'rec_' THEN 0 ELSE i.seq END,
          CASE kind WHEN 0 THEN 0 ELSE p.item END, coalesce(p.currency, ''), p.status,
          sum(p.sign), coalesce(sum(p.sign * p.price), 0)
        FROM ${purchases} p JOIN totalled_purchases l ON l.store = p.store AND p.seq <= l.last
        JOIN imports i ON i.seq = p.import ${condition}
        CROSS JOIN (VALUES (0), (1)) k (kind)
        GROUP BY 1, 2, 3, 4, 5, 6, 7 HAVING sum(p.sign) <> 0 OR sum(p.sign * p.price) <> 0
        ORDER BY 1, 2, 3, 4, 5, 6, 7
        ON CONFLICT (store, kind, start, import, item, currency, status) DO UPDATE SET
          purchases = t.purchases + excluded.purchases, price = t.price + excluded.price;`
}
