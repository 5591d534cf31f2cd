import { ERASED } from '../sql/pseudonym.ts'
import { FIXED_IN_AUDIT, IS_ARCHIVED, type SchemaDialect, sharedTables } from '../sql/schema.ts'
import type { Schema } from '../sql/upgrade.ts'
import { VIEWS } from './views.ts'

const DIALECT: SchemaDialect = {
  types: {
    // Compares texts byte by byte in every database.
    text: 'text COLLATE "C"',
    smallint: 'smallint',
    integer: 'integer',
    bigint: 'bigint',
    boolean: 'boolean',
    json: 'json', // `jsonb` would reorder the keys
    bytea: 'bytea',
    timestamptz: 'timestamptz',
  },
  seq: 'seq integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY',
  longSeq: 'seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY',
  neverReusedSeq: 'seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY',
  thenSeq: ', seq',
  end: ')',
  keyedEnd: ')',
  own: {
    // A store's purchases after last_purchase belong to an import under way and are invisible.
    stores: 'last_purchase bigint NOT NULL DEFAULT 0,',
    imports: `
    seq integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    alive_at timestamptz NOT NULL DEFAULT now(),
    first_purchase bigint,
    last_purchase bigint,
    created_at timestamptz NOT NULL DEFAULT now(),`,
    status_changes: 'store integer NOT NULL,',
    // "xid" is the writing transaction: snapshots compare it, which tells a reader exactly which
    // entries have been committed since.
    audit: ', xid xid8 NOT NULL DEFAULT pg_current_xact_id()',
    // The entries after the position "(read_xid, read_seq)" are unread. An endpoint that starts at
    // the newest entry reads from the oldest open transaction on, because that may still commit
    // entries. It skips the entries that "started" saw, and those of its own transaction
    // "started_by".
    webhook_endpoints: `
    read_xid xid8 NOT NULL DEFAULT pg_current_xact_id(),
    read_seq bigint NOT NULL DEFAULT 9007199254740991,
    started pg_snapshot,
    started_by xid8,`,
  },
}

/** The tables, indexes, functions and triggers that only PostgreSQL has. */
const OWN = `
  CREATE TABLE tillkit_migrations (
    version integer PRIMARY KEY,
    done_at timestamptz NOT NULL DEFAULT now()
  );

  CREATE INDEX status_changes_purchase ON status_changes (store, purchase);
  CREATE INDEX audit_xid ON audit (xid, seq);
  CREATE INDEX audit_project ON audit (project_id, xid, seq);

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
    expires_at bigint,
    PRIMARY KEY (store, seq),
    CONSTRAINT purchases_transaction UNIQUE (store, transaction_id)
  );

  -- The changes of an import under way to earlier purchases. Its commit moves them into the purchases.
  -- "filled" has the bits of the columns that it fills.
  CREATE TABLE purchase_changes (
    store integer NOT NULL,
    purchase bigint NOT NULL,
    status smallint NOT NULL,
    filled smallint NOT NULL DEFAULT 0,
    user_id text COLLATE "C",
    price bigint,
    currency text COLLATE "C",
    expires_at bigint,
    PRIMARY KEY (store, purchase)
  );
  -- Finds the purchases of a user, in order.
  CREATE INDEX purchases_user ON purchases (store, user_id, seq) WHERE user_id IS NOT NULL;

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
`

const AUDIT_TRIGGERS = `
  CREATE OR REPLACE FUNCTION refuse_audit_change() RETURNS trigger LANGUAGE plpgsql
    SET search_path FROM CURRENT AS $$
    BEGIN
      IF TG_OP = 'DELETE' AND ${IS_ARCHIVED} THEN RETURN old; END IF;
      RAISE 'the audit log is append-only';
    END $$;
  CREATE OR REPLACE TRIGGER audit_append_only
    BEFORE TRUNCATE OR UPDATE OF seq, xid, ${FIXED_IN_AUDIT.join(', ')} ON audit
    EXECUTE FUNCTION refuse_audit_change();
  CREATE OR REPLACE TRIGGER audit_no_delete BEFORE DELETE ON audit
    FOR EACH ROW EXECUTE FUNCTION refuse_audit_change();
  CREATE OR REPLACE TRIGGER audit_no_rename BEFORE UPDATE ON audit FOR EACH ROW
    WHEN (new.actor <> old.actor AND strpos(new.actor, '${ERASED}') = 0
      OR new.subject <> old.subject AND strpos(new.subject, '${ERASED}') = 0)
    EXECUTE FUNCTION refuse_audit_change();
`

const ADD_DELIVERIES = `
  CREATE TABLE deliveries (
    store integer NOT NULL,
    transaction_id text COLLATE "C" NOT NULL,
    purchase bigint,
    PRIMARY KEY (store, transaction_id)
  );
  CREATE INDEX deliveries_waiting ON deliveries (store, purchase) WHERE purchase IS NOT NULL;`

const ADD_FILLS = `
  ALTER TABLE status_changes ADD COLUMN filled smallint NOT NULL DEFAULT 0;
  ALTER TABLE purchase_changes ADD COLUMN filled smallint NOT NULL DEFAULT 0,
    ADD COLUMN user_id text COLLATE "C", ADD COLUMN price bigint,
    ADD COLUMN currency text COLLATE "C", ADD COLUMN expires_at bigint;`

/** Adds the views. */
const ADD_VIEWS = ''

const ADD_KEY_SCOPES = 'ALTER TABLE account_keys ADD COLUMN scopes json'
const ADD_EVENTS = 'ALTER TABLE webhook_endpoints ADD COLUMN events json'
const DROP_AUDIT_HELPERS = `
  DROP FUNCTION refuse_audit_update, refuse_audit_deletion CASCADE;
  DROP TABLE audit_archive, audit_pseudonym;
  CREATE INDEX audit_archives ON audit (subject) WHERE action = 'audit.archive';`

export const SCHEMA: Schema = {
  create: sharedTables(DIALECT) + OWN,
  steps: [ADD_DELIVERIES, ADD_FILLS, ADD_VIEWS, ADD_KEY_SCOPES, ADD_EVENTS, DROP_AUDIT_HELPERS],
  derived: VIEWS + AUDIT_TRIGGERS,
}
