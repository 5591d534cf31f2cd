# Godot 4: a game reads items with a token. A dedicated server records purchases with an account key.
# Add it to a scene as a node. A call that fails prints the error. Numbers of JSON are floats: 499.0.
class_name Tillkit
extends Node

var server := "http://127.0.0.1:8080"


## Opens a session with the public key. Returns its token, or "".
func open_session(public_key: String, user_id: String) -> String:
	var credential := "X-Public-Project-Key: " + public_key
	var session := await _send("/api/v1/identity/auth/token", credential, {"user_id": user_id})
	return session.get("token", "")


## The items of a store. The token is of a session, or from your server.
func items(token: String, store_id: String) -> Array:
	var path := "/api/v1/items?store_id=" + store_id.uri_encode()
	var page := await _send(path, "Authorization: Bearer " + token)
	return page.get("items", [])


## For a server: the key needs the scope `purchases`. Never export it with a game.
## Returns `added`, `updated` or `skipped`, or "" after an error. May be repeated.
func record(account_key: String, store_id: String, purchase: Dictionary) -> String:
	var path := "/manage/v1/stores/%s/purchases" % store_id.uri_encode()
	var recorded := await _send(path, "X-Account-Key: " + account_key, purchase)
	return recorded.get("outcome", "")


## For a server: all items that a user owns. The key needs the scope `read`.
## Returns null after an error, because an empty list would say that the user owns nothing.
func owned(account_key: String, store_id: String, user_id: String) -> Variant:
	var first := "/manage/v1/stores/%s/owned?user_id=%s" % [
		store_id.uri_encode(), user_id.uri_encode()
	]
	var found := []
	var path := first
	while true:
		var page := await _send(path, "X-Account-Key: " + account_key)
		if not page.has("owned"):
			return null
		found.append_array(page["owned"])
		if not page.has("next"):
			break
		path = first + "&cursor=" + str(page["next"]).uri_encode()
	return found


## Sends GET, or POST with a body. Returns the parsed answer.
func _send(path: String, credential: String, body: Variant = null) -> Dictionary:
	var http := HTTPRequest.new()
	http.timeout = 30.0
	http.max_redirects = 0 # a redirect would send the key to another server
	add_child(http)
	var headers := PackedStringArray([credential, "Content-Type: application/json"])
	var method := HTTPClient.METHOD_GET if body == null else HTTPClient.METHOD_POST
	var data := "" if body == null else JSON.stringify(body)
	var answer := {}
	if http.request(server + path, headers, method, data) != OK:
		push_error("The request cannot be sent")
	else:
		var completed: Array = await http.request_completed
		answer = _parse(completed[0], completed[1], completed[3])
	http.queue_free()
	return answer


func _parse(result: int, status: int, bytes: PackedByteArray) -> Dictionary:
	if result != HTTPRequest.RESULT_SUCCESS:
		push_error("The server did not answer")
		return {}
	var text := bytes.get_string_from_utf8()
	var parsed: Variant = JSON.parse_string(text)
	if status >= 300 or not parsed is Dictionary:
		push_error("%d %s" % [status, text.left(500)])
		return {}
	return parsed
