import type { Account } from '../../domain/account.ts'
import type { Item, ItemType } from '../../domain/item.ts'
import type { Project } from '../../domain/project.ts'
import type { Store, StoreType } from '../../domain/store.ts'
import type { StoredSigningKey } from '../port.ts'
import type { Row } from './connection.ts'

export function accountRecord(row: Row): Account {
  return {
    account_id: row.account_id as string,
    name: row.name as string,
    created_at: row.created_at as string,
  }
}

export function projectRecord(row: Row): Project {
  return {
    id: row.id as string,
    account_id: row.account_id as string,
    name: row.name as string,
    bundle_id: row.bundle_id as string,
    platform: row.platform as string,
    status: row.status as string,
    dlscheme: row.dlscheme as string,
    public_key: row.public_key as string,
    config: JSON.parse(row.config as string),
    created_at: row.created_at as string,
  }
}

export function storeRecord(row: Row): Store {
  return {
    account_id: row.account_id as string,
    project_id: row.project_id as string,
    store_id: row.store_id as string,
    store_type: row.store_type as StoreType,
    is_sandbox: row.is_sandbox === 1,
    status: row.status as string,
    store_config: JSON.parse(row.store_config as string),
    created_at: row.created_at as string,
  }
}

export function itemRecord(row: Row): Item {
  return {
    id: row.id as string,
    account_id: row.account_id as string,
    project_id: row.project_id as string,
    store_id: row.store_id as string,
    name: row.name as string,
    display_name: row.display_name as string,
    description: row.description as string,
    price: row.price as number,
    type: row.type as ItemType,
    metadata: JSON.parse(row.metadata as string),
    created_at: row.created_at as string,
  }
}

export function signingKeyRecord(row: Row): StoredSigningKey {
  return {
    kid: row.kid as string,
    secret: row.secret as Uint8Array,
    created_at: row.created_at as string,
  }
}
