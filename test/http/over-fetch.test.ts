// Runs the tests of the endpoints again, over the fetch handler.
process.env.TILLKIT_TEST_TRANSPORT = 'fetch'
await import('./endpoints.test.ts')
await import('./import.test.ts')
await import('./reading.test.ts')
await import('./cors.test.ts')
