<?php
// PHP 8.1 or later: a client reads items with a token, a server records purchases with an account key.
declare(strict_types=1);

namespace Tillkit;

/** An answer that is not 2xx. Programs read `$status` and `$problem`. The status 0: there was none. */
final class TillError extends \RuntimeException
{
    public function __construct(public readonly int $status, public readonly string $problem, string $detail)
    {
        parent::__construct($detail);
    }
}

/** For a client. Open a session with the public key, or pass a token from your server. */
final class Player
{
    public function __construct(private string $server, private string $token)
    {
    }

    public static function open(string $server, string $publicKey, string $userId): self
    {
        $url = "$server/api/v1/identity/auth/token";
        $session = send($url, "X-Public-Project-Key: $publicKey", ['user_id' => $userId]);
        return new self($server, $session['token']);
    }

    public function items(string $storeId): array
    {
        $query = http_build_query(['store_id' => $storeId]);
        return send("$this->server/api/v1/items?$query", "Authorization: Bearer $this->token")['items'];
    }
}

/** For your server: the key needs the scopes `read` and `purchases`. Never show it to a client. */
final class Server
{
    public function __construct(private string $server, private string $accountKey)
    {
    }

    /** Returns `added`, `updated` or `skipped`. May be repeated. */
    public function record(string $storeId, array $purchase): string
    {
        return $this->ask($storeId, 'purchases', $purchase)['outcome'];
    }

    /** All items that a user owns, from as many pages as there are. */
    public function owned(string $storeId, string $userId): array
    {
        $query = ['user_id' => $userId];
        $owned = [];
        do {
            $page = $this->ask($storeId, 'owned?' . http_build_query($query));
            array_push($owned, ...$page['owned']);
            $query['cursor'] = $page['next'] ?? null;
        } while ($query['cursor'] !== null);
        return $owned;
    }

    private function ask(string $storeId, string $path, ?array $body = null): array
    {
        $url = "$this->server/manage/v1/stores/" . rawurlencode($storeId) . "/$path";
        return send($url, "X-Account-Key: $this->accountKey", $body);
    }
}

/** Sends GET, or POST with a body. Returns the parsed answer. */
function send(string $url, string $credential, ?array $body = null): array
{
    $http = [
        'method' => $body === null ? 'GET' : 'POST',
        'header' => [$credential, 'Content-Type: application/json'],
        'content' => $body === null ? '' : json_encode($body, JSON_THROW_ON_ERROR),
        'timeout' => 30,
        'follow_location' => 0, // a redirect would send the key to another server
        'ignore_errors' => true, // returns the body of an error
    ];
    $stream = @fopen($url, 'r', false, stream_context_create(['http' => $http]));
    if ($stream === false) {
        throw new TillError(0, 'network_error', 'The server did not answer');
    }
    $status = (int) explode(' ', stream_get_meta_data($stream)['wrapper_data'][0])[1];
    $answer = json_decode(stream_get_contents($stream), true);
    fclose($stream);
    if ($status >= 300 || !is_array($answer)) {
        throw new TillError($status, $answer['code'] ?? '', $answer['detail'] ?? '');
    }
    return $answer;
}
