import type { Item } from '../lib/domain/item.ts'
import type { Project } from '../lib/domain/project.ts'
import type { Store } from '../lib/domain/store.ts'

/**
 * The fields of the bodies that the ten endpoints answer. From a list follow the schema in the
 * OpenAPI document, the type of what a handler returns, and the type of the client. The
 * specification states these fields: a new field of a record belongs to the management API.
 */
export const answerFields = {
  createdItem: ['id', 'name', 'display_name', 'description'],
  item: ['id', 'name', 'display_name', 'description', 'price', 'type', 'store_id', 'metadata'],
  createdProject: ['id', 'account_id', 'name', 'bundle_id', 'platform', 'status', 'config'],
  project: ['id', 'account_id', 'name', 'bundle_id', 'platform', 'status', 'config', 'public_key'],
  openedProject: ['id', 'name', 'bundle_id', 'platform', 'status', 'dlscheme'],
  store: ['store_id', 'project_id', 'store_type', 'is_sandbox', 'status', 'store_config'],
  /** Without the `store_id`, whose name is `id`. */
  openedStore: ['store_type', 'is_sandbox', 'status'],
} as const satisfies {
  readonly createdItem: readonly (keyof Item)[]
  readonly item: readonly (keyof Item)[]
  readonly createdProject: readonly (keyof Project)[]
  readonly project: readonly (keyof Project)[]
  readonly openedProject: readonly (keyof Project)[]
  readonly store: readonly (keyof Store)[]
  readonly openedStore: readonly (keyof Store)[]
}

type FieldOf<Name extends keyof typeof answerFields> = (typeof answerFields)[Name][number]

/** The fields of an item that the API returns when it creates one. */
export type CreatedItemAnswer = Pick<Item, FieldOf<'createdItem'>>

/** An item, as the API returns it. */
export type ItemAnswer = Pick<Item, FieldOf<'item'>>

/** A project without its public key, which is in a header. */
export type CreatedProjectAnswer = Pick<Project, FieldOf<'createdProject'>>

/** A project, with the public key for its clients. */
export type ProjectAnswer = Pick<Project, FieldOf<'project'>>

/** A store, as the API returns it when it creates one. */
export type StoreAnswer = Pick<Store, FieldOf<'store'>>

/** A token of a project without a user. */
export interface AccessTokenAnswer {
  readonly access_token: string
  readonly ttl_seconds: number
}

/** A token, as the API and `till.sessions.issue` of the library return it. */
export interface SessionAnswer {
  readonly token: string
  /** ISO 8601, UTC. */
  readonly expires_at: string
  readonly expires_in_seconds: number
}

/** A new session, its project, and all its stores. Use those whose `status` is `active`. */
export interface InitializedSessionAnswer {
  readonly project: Pick<Project, FieldOf<'openedProject'>>
  readonly session: SessionAnswer
  readonly stores: readonly ({ readonly id: string } & Pick<Store, FieldOf<'openedStore'>>)[]
}
