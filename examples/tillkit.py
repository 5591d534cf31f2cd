# Python 3.9 or later: a game reads items with a token, a server records purchases with an account key.
import json
from urllib.error import HTTPError
from urllib.parse import quote, urlencode
from urllib.request import HTTPRedirectHandler, Request, build_opener


class TillError(Exception):
    """An answer that is not 2xx. Programs read `status`, `code` and the fields in `errors`."""

    def __init__(self, status, code, detail, errors):
        super().__init__(detail)
        self.status = status
        self.code = code
        self.errors = errors


class NoRedirect(HTTPRedirectHandler):
    """A redirect would send the key to another server."""

    def redirect_request(self, *_):
        return None


opener = build_opener(NoRedirect)


def send(url, headers, body=None):
    """Sends GET, or POST with a body. Returns the parsed answer."""
    data = None if body is None else json.dumps(body).encode()
    request = Request(url, data, {**headers, "Content-Type": "application/json"})
    try:
        with opener.open(request, timeout=30) as response:
            return json.load(response)
    except HTTPError as error:
        try:
            problem = json.load(error)
        except ValueError:
            problem = {}  # of a proxy
        code, detail, errors = problem.get("code"), problem.get("detail"), problem.get("errors", [])
        raise TillError(error.code, code, detail, errors) from error


class Player:
    """For a game. Open a session with the public key, or pass a token from your server."""

    def __init__(self, server, token):
        self.server = server
        self.headers = {"Authorization": f"Bearer {token}"}

    @classmethod
    def open(cls, server, public_key, user_id):
        url = f"{server}/api/v1/identity/auth/token"
        session = send(url, {"X-Public-Project-Key": public_key}, {"user_id": user_id})
        return cls(server, session["token"])

    def items(self, store_id):
        query = urlencode({"store_id": store_id})
        return send(f"{self.server}/api/v1/items?{query}", self.headers)["items"]


class Server:
    """For your server: the key needs the scopes `read` and `purchases`. Never ship it with a game."""

    def __init__(self, server, account_key):
        self.stores = f"{server}/manage/v1/stores"
        self.headers = {"X-Account-Key": account_key}

    def record(self, store_id, purchase):
        """Returns `added`, `updated` or `skipped`. May be repeated."""
        url = f"{self.stores}/{quote(store_id, '')}/purchases"
        return send(url, self.headers, purchase)["outcome"]

    def owned(self, store_id, user_id):
        """All items that a user owns, from as many pages as there are."""
        query = {"user_id": user_id}
        owned = []
        while True:
            url = f"{self.stores}/{quote(store_id, '')}/owned?{urlencode(query)}"
            page = send(url, self.headers)
            owned += page["owned"]
            if "next" not in page:
                return owned
            query["cursor"] = page["next"]
