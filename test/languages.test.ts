// run: early
import assert from 'node:assert/strict'
import { execFile, spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join, resolve } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { temporaryFolder } from './support/folder.ts'
import { listenOn } from './support/listen.ts'
import { serveShop } from './support/server.ts'

const MORE_THAN_A_PAGE = 1001

/** How a language runs a program that uses an example. */
interface Language {
  readonly example: string
  readonly program: string
  /** The file name of the program. */
  readonly file: string
  /** Other files, such as a module file. */
  readonly files?: { readonly [name: string]: string }
  /** Where the example lies next to the program. */
  readonly place?: string
  readonly commands: readonly (readonly string[])[]
}

// Each program takes the server, the public key and the account key. It prints the price of the item,
// the outcome of a recorded purchase, how much two players own, the error of a wrong store, and the
// status of a redirect.
const languages: { readonly [language: string]: Language } = {
  Python: {
    example: 'tillkit.py',
    file: 'main.py',
    program: `import sys, tillkit
server, public_key, account_key, redirecting = sys.argv[1:]
player = tillkit.Player.open(server, public_key, "Zoë & co")
back_end = tillkit.Server(server, account_key)
purchase = {"transaction_id": "T-1", "sku": "gold", "purchased_at": "2026-01-31T12:00:00Z", "user_id": "Zoë & co", "price": 499}
print(player.items("main")[0]["price"])
print(back_end.record("main", purchase))
print(back_end.owned("main", "Zoë & co")[0]["quantity"])
print(len(back_end.owned("main", "many")))
try:
    back_end.owned("a b/c", "x")
except tillkit.TillError as error:
    print(error.status, error.code if error.errors[0]["field"] == "store_id" else error.errors)
try:
    tillkit.Server(redirecting, account_key).owned("main", "x")
except tillkit.TillError as error:
    print(error.status)
`,
    commands: [['python3', 'main.py']],
  },
  Go: {
    example: 'tillkit.go',
    place: 'tillkit',
    file: 'main.go',
    files: { 'go.mod': 'module shop\n\ngo 1.19\n' },
    program: `package main

import (
	"errors"
	"fmt"
	"os"

	"shop/tillkit"
)

func check[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func main() {
	player := check(tillkit.OpenSession(os.Args[1], os.Args[2], "Zoë & co"))
	server := &tillkit.Server{Server: os.Args[1], AccountKey: os.Args[3]}
	purchase := tillkit.Purchase{TransactionID: "T-1", SKU: "gold", PurchasedAt: "2026-01-31T12:00:00Z", UserID: "Zoë & co", Price: 499}
	fmt.Println(check(player.Items("main"))[0].Price)
	fmt.Println(check(server.Record("main", purchase)))
	fmt.Println(check(server.Owned("main", "Zoë & co"))[0].Quantity)
	fmt.Println(len(check(server.Owned("main", "many"))))
	_, err := server.Owned("a b/c", "x")
	var problem *tillkit.Error
	errors.As(err, &problem)
	fmt.Println(problem.Status, problem.Code)
	_, err = (&tillkit.Server{Server: os.Args[4], AccountKey: os.Args[3]}).Owned("main", "x")
	errors.As(err, &problem)
	fmt.Println(problem.Status)
}
`,
    commands: [['go', 'run', '.']],
  },
  PHP: {
    example: 'tillkit.php',
    file: 'main.php',
    program: `<?php
require 'tillkit.php';
[, $server, $publicKey, $accountKey, $redirecting] = $argv;
$player = Tillkit\\Player::open($server, $publicKey, 'Zoë & co');
$backEnd = new Tillkit\\Server($server, $accountKey);
$purchase = ['transaction_id' => 'T-1', 'sku' => 'gold', 'purchased_at' => '2026-01-31T12:00:00Z', 'user_id' => 'Zoë & co', 'price' => 499];
echo $player->items('main')[0]['price'], "\\n";
echo $backEnd->record('main', $purchase), "\\n";
echo $backEnd->owned('main', 'Zoë & co')[0]['quantity'], "\\n";
echo count($backEnd->owned('main', 'many')), "\\n";
try {
    $backEnd->owned('a b/c', 'x');
} catch (Tillkit\\TillError $error) {
    echo "$error->status $error->problem\\n";
}
try {
    (new Tillkit\\Server($redirecting, $accountKey))->owned('main', 'x');
} catch (Tillkit\\TillError $error) {
    echo "$error->status\\n";
}
`,
    commands: [['php', 'main.php']],
  },
  'C#': {
    example: 'Tillkit.cs',
    file: 'Main.cs',
    program: `using System;
using Tillkit;

static class Program
{
    static void Main(string[] args)
    {
        var player = Player.Open(args[0], args[1], "Zoë & co").Result;
        var server = new Server(args[0], args[2]);
        var purchase = new Purchase { transaction_id = "T-1", sku = "gold", purchased_at = "2026-01-31T12:00:00Z", user_id = "Zoë & co", price = 499 };
        Console.WriteLine(player.Items("main").Result[0].price);
        Console.WriteLine(server.Record("main", purchase).Result);
        Console.WriteLine(server.ListOwned("main", "Zoë & co").Result[0].quantity);
        Console.WriteLine(server.ListOwned("main", "many").Result.Count);
        try
        {
            server.ListOwned("a b/c", "x").Wait();
        }
        catch (AggregateException error)
        {
            var problem = (TillException)error.InnerException;
            Console.WriteLine(problem.Status + " " + problem.Code);
        }
        try
        {
            new Server(args[3], args[2]).ListOwned("main", "x").Wait();
        }
        catch (AggregateException error)
        {
            Console.WriteLine(((TillException)error.InnerException).Status);
        }
    }
}
`,
    commands: [
      [
        'mcs',
        '-out:main.exe',
        '-warnaserror',
        '-r:System.Net.Http',
        '-r:System.Runtime.Serialization',
        'Main.cs',
        'Tillkit.cs',
      ],
      ['mono', 'main.exe'],
    ],
  },
}

test('a purchase with "" for what is missing, as Unity writes it, is recorded, and filled later', async (t) => {
  const { send, account_key } = await serveShop(t, { options: { manage: true } })
  const json = { transaction_id: 'T-1', sku: 'gold', purchased_at: '2026-01-31T12:00:00Z' }
  const record = async (user_id: string) => {
    const reply = await send('POST /manage/v1/stores/main/purchases', {
      account_key,
      json: { ...json, user_id, price: 499, currency: '', expires_at: '' },
    })
    return reply.json<{ outcome: string }>().outcome
  }

  assert.equal(await record(''), 'added')
  assert.equal(await record('player-1'), 'updated')
})

for (const [name, language] of Object.entries(languages)) {
  const { example, file, program, files = {}, place = '.', commands } = language
  const missing = commands.find(([command = '']) => spawnSync(command, ['--help']).error)
  const skip = missing === undefined ? false : `${missing[0]} is not installed`
  test(`examples/${example} reads items, records and asks what a user owns, in ${name}`, {
    skip,
  }, async (t) => {
    const { till, account, project_id, url, public_key } = await serveShop(t, {
      options: { manage: true },
    })
    const { account_key: key } = await till.accounts.addKey(account, {
      scopes: ['read', 'purchases'],
    })
    const names = Array.from({ length: MORE_THAN_A_PAGE }, (_, n) => `gold_${n}`)
    const values = { display_name: 'Gold', price: '499', type: 'consumable' } as const
    const items = names.map((name) => ({ name, ...values }))
    await till.catalog.apply(account, {
      project_id,
      catalog: { stores: [{ store_id: 'main', items }] },
    })
    const rows = names.map((name) => `${name},${name},1700000000,many`)
    const csv = ['transaction_id,sku,purchased_at,user_id', ...rows, ''].join('\n')
    await till.purchases.import(account, { store_id: 'main', file: [Buffer.from(csv)] })
    const requests: (string | undefined)[] = []
    const redirecting = await listenOn(
      t,
      createServer(({ url }, response) => {
        requests.push(url)
        response.writeHead(302, { location: '/elsewhere' }).end()
      }),
    )
    const folder = temporaryFolder(t)
    mkdirSync(join(folder, place), { recursive: true })
    cpSync(resolve('examples', example), join(folder, place, example))
    for (const [path, text] of Object.entries({ ...files, [file]: program })) {
      writeFileSync(join(folder, path), text)
    }
    const [last = [], ...compilers] = commands.toReversed()
    const run = async ([command = '', ...args]: readonly string[]) =>
      (await promisify(execFile)(command, args, { cwd: folder })).stdout
    for (const command of compilers) await run(command)

    const output = await run([...last, url, public_key, key, redirecting])

    assert.deepEqual(output.trim().split('\n'), [
      '499',
      'added',
      '1',
      String(MORE_THAN_A_PAGE),
      '400 invalid_request',
      '302',
    ])
    assert.deepEqual(requests, ['/manage/v1/stores/main/owned?user_id=x'])
  })
}
