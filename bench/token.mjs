// Signs and verifies HS256 tokens with our claims. Libraries that cache verified tokens are faster
// on repeated ones, so new tokens, a thousand in turn and a single one are measured separately.
import { createHmac, createSecretKey, randomBytes, subtle } from 'node:crypto'
import { createSigner, createVerifier } from 'fast-jwt'
import { jwtVerify, SignJWT } from 'jose'
import jsonwebtoken from 'jsonwebtoken'
import { signToken, verifyToken } from '../dist/lib/token/jwt.js'
import { count, median, printTable, ratio } from './table.mjs'

const ROUNDS = 5
const TRIAL_MS = 300
const STRANGERS = 10_000
const PLAYERS = 1_000
const INPUT = 'x'.repeat(400) // as long as the signed part of our tokens

const secret = randomBytes(32)
const kid = 'bench'
const issuer = 'tillkit'
const keyObject = createSecretKey(secret)
const hmac = { name: 'HMAC', hash: 'SHA-256' }
const cryptoKey = await subtle.importKey('raw', secret, hmac, false, ['sign', 'verify'])
const ring = [{ kid, secret }]
const algorithms = ['HS256']
const fastRules = { key: secret, algorithms, allowedIss: issuer, clockTolerance: 5_000 }
const fastSign = createSigner({ key: secret, algorithm: 'HS256', kid })

/** Each library gets the key in its fastest form. */
const rivals = {
  tillkit: {
    sign: (claims) => signToken(claims, ring[0]),
    verify: (token) => verifyToken(token, ring, { iss: issuer, now: Date.now() / 1000 }),
  },
  'fast-jwt': { sign: fastSign, verify: createVerifier({ ...fastRules, cache: false }) },
  'fast-jwt, its cache on': {
    sign: fastSign,
    verify: createVerifier({ ...fastRules, cache: PLAYERS }),
  },
  jose: {
    sign: (claims) =>
      new SignJWT(claims).setProtectedHeader({ alg: 'HS256', typ: 'JWT', kid }).sign(cryptoKey),
    verify: async (token) =>
      (await jwtVerify(token, cryptoKey, { algorithms, issuer, clockTolerance: 5 })).payload,
  },
  jsonwebtoken: {
    sign: (claims) => jsonwebtoken.sign(claims, keyObject, { algorithm: 'HS256', keyid: kid }),
    verify: (token) =>
      jsonwebtoken.verify(token, keyObject, { algorithms, issuer, clockTolerance: 5 }),
  },
  // The limit without a cache: every library must at least compute this HMAC.
  'the HMAC alone': { sign: () => digest(INPUT), verify: digest },
}

export async function bench() {
  for (const [name, rival] of Object.entries(rivals)) await judge(name, rival)
  const known = makeClaims(PLAYERS).map((claims) => signToken(claims, ring[0]))
  const trials = Object.fromEntries(Object.keys(rivals).map((name) => [name, []]))
  for (let round = 0; round <= ROUNDS; round++) {
    for (const [name, { sign, verify }] of Object.entries(rivals)) {
      const claims = makeClaims(PLAYERS)
      const strangers = makeClaims(STRANGERS).map((each) => signToken(each, ring[0]))
      const trial = [
        await rate(sign, claims),
        await rateOnce(verify, strangers),
        await rate(verify, known),
        await rate(verify, known.slice(0, 1)),
      ]
      if (round > 0) trials[name].push(trial) // the first is a warm-up
    }
  }
  const medians = Object.entries(trials).map(([name, all]) => [
    name,
    [0, 1, 2, 3].map((column) => median(all.map((trial) => trial[column]))),
  ])
  const header = ['', 'sign', 'verify: each once', `${count(PLAYERS)} in turn`, 'one']
  const title = `HS256 tokens with our claims, medians of ${ROUNDS} interleaved rounds`
  printTable(
    `${title}, a second`,
    header,
    medians.map(([name, rates]) => [name, ...rates.map(count)]),
  )
  printTable(
    'The same, of fast-jwt',
    header,
    medians.map(([name, rates]) => [
      name,
      ...rates.map((each, i) => ratio(each / medians[1][1][i])),
    ]),
  )
}

async function judge(name, { sign, verify }) {
  if (name === 'the HMAC alone') return
  const [claims] = makeClaims(1)
  for (const token of [await sign(claims), signToken(claims, ring[0])]) {
    if (JSON.stringify(await verify(token)) !== JSON.stringify(claims)) {
      throw new Error(`${name} reads other claims`)
    }
  }
  const spoilt = `${signToken(claims, ring[0]).slice(0, -8)}AAAAAAAA`
  const answer = await Promise.resolve(spoilt)
    .then(verify)
    .catch(() => undefined)
  if (answer !== undefined) throw new Error(`${name} takes a spoilt token`)
}

let made = 0

function makeClaims(amount) {
  const iat = Math.floor(Date.now() / 1000)
  return Array.from({ length: amount }, () => ({
    iss: issuer,
    sub: `player_${made++}`,
    project_id: 'prj_01jd7w3k5xq0v9m2h4t6r8b1c3',
    scope: 'items:read projects:write purchases:import',
    jti: randomBytes(16).toString('base64url'),
    iat,
    exp: iat + 3600,
  }))
}

/** Calls per second, with the inputs in turn. */
async function rate(work, inputs) {
  const started = performance.now()
  let done = 0
  while (performance.now() - started < TRIAL_MS) {
    for (let i = 0; i < 100; i++) {
      const result = work(inputs[done++ % inputs.length])
      if (result instanceof Promise) await result
    }
  }
  return (done / (performance.now() - started)) * 1000
}

async function rateOnce(work, inputs) {
  const started = performance.now()
  for (const input of inputs) {
    const result = work(input)
    if (result instanceof Promise) await result
  }
  return (inputs.length / (performance.now() - started)) * 1000
}

function digest(text) {
  return createHmac('sha256', keyObject).update(text).digest('base64url')
}
