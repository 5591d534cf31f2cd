/** An example of each body of the management API. */
export const manageExamples = {
  ManagedProjectInput: { name: 'Game', bundle_id: 'com.example.game', platform: 'mobile' },
  ManagedProjectChange: { name: 'Game 2' },
  AccountKeyInput: { name: 'Game server' },
  KeyRotation: { grace_period: 86_400_000 },
  ManagedStoreChange: { store_config: { currency: 'USD' } },
  ItemChange: { price: '599' },
  CatalogRequest: { catalog: { stores: [] }, archive_missing: false },
  PurchaseInput: {
    transaction_id: 'T-1002',
    sku: 'sword',
    purchased_at: '2026-01-31T12:00:00Z',
    user_id: 'player-1',
    price: 499,
  },
  ManagedImportForm: {
    file: 'transaction_id,sku,purchased_at\nT-1001,sword,2026-01-31T12:00:00Z\n',
    dry_run: true,
  },
  ImportUndo: { force: false },
  UserErasure: { delete: false },
  WebhookReplay: { since: '2026-01-31T12:00:00Z' },
  WebhookConfirmation: { url: 'https://shop.example/hook' },
} as const
