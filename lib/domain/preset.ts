/** The vendors' file formats that an import reads, and their titles. The console lists them. */
export const PRESET_TITLES = {
  google_play_sales: 'Google Play sales report',
  revenuecat_transactions: 'RevenueCat transactions',
  stripe_payments: 'Stripe payments',
  shopify_orders: 'Shopify orders',
}

export type PresetName = keyof typeof PRESET_TITLES

/** The names of the presets that a caller may choose. */
export const PRESET_NAMES = Object.keys(PRESET_TITLES) as readonly PresetName[]
