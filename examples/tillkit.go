// Go 1.19 or later: a game reads items with a token, a server records purchases with an account key.
package tillkit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"
)

type Item struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	DisplayName string `json:"display_name"`
	Description string `json:"description"`
	Price       int64  `json:"price"` // in minor units: 499 is 4.99 USD
}

type Purchase struct {
	TransactionID string `json:"transaction_id"`
	SKU           string `json:"sku"`
	PurchasedAt   string `json:"purchased_at"` // RFC 3339
	UserID        string `json:"user_id"`
	Price         int64  `json:"price"` // in minor units
	Currency      string `json:"currency,omitempty"`
	ExpiresAt     string `json:"expires_at,omitempty"` // of a subscription
}

type Owned struct {
	SKU       string `json:"sku"`
	Type      string `json:"type"`
	Quantity  int64  `json:"quantity"`
	ExpiresAt string `json:"expires_at"` // "" if it never ends
}

// Error is an answer that is not 2xx. Programs read Status and Code.
type Error struct {
	Status int    `json:"status"`
	Code   string `json:"code"`
	Detail string `json:"detail"`
}

func (e *Error) Error() string { return fmt.Sprintf("%d %s: %s", e.Status, e.Code, e.Detail) }

// Player is for a game. Open a session with the public key, or pass a token from your server.
type Player struct{ Server, Token string }

func OpenSession(server, publicKey, userID string) (*Player, error) {
	var session struct {
		Token string `json:"token"`
	}
	body := map[string]string{"user_id": userID}
	address := server + "/api/v1/identity/auth/token"
	if err := send(address, "X-Public-Project-Key", publicKey, body, &session); err != nil {
		return nil, err
	}
	return &Player{server, session.Token}, nil
}

func (p *Player) Items(storeID string) ([]Item, error) {
	var page struct {
		Items []Item `json:"items"`
	}
	address := p.Server + "/api/v1/items?store_id=" + url.QueryEscape(storeID)
	err := send(address, "Authorization", "Bearer "+p.Token, nil, &page)
	return page.Items, err
}

// Server is for your server: the key needs the scopes read and purchases. Never ship it with a game.
type Server struct{ Server, AccountKey string }

// Record returns added, updated or skipped. It may be repeated.
func (s *Server) Record(storeID string, purchase Purchase) (string, error) {
	var recorded struct {
		Outcome string `json:"outcome"`
	}
	err := send(s.store(storeID)+"/purchases", "X-Account-Key", s.AccountKey, purchase, &recorded)
	return recorded.Outcome, err
}

// Owned returns all items that a user owns, from as many pages as there are.
func (s *Server) Owned(storeID, userID string) ([]Owned, error) {
	var owned []Owned
	query := url.Values{"user_id": {userID}}
	for {
		var page struct {
			Owned []Owned `json:"owned"`
			Next  string  `json:"next"`
		}
		address := s.store(storeID) + "/owned?" + query.Encode()
		if err := send(address, "X-Account-Key", s.AccountKey, nil, &page); err != nil {
			return nil, err
		}
		owned = append(owned, page.Owned...)
		if page.Next == "" {
			return owned, nil
		}
		query.Set("cursor", page.Next)
	}
}

func (s *Server) store(id string) string {
	return s.Server + "/manage/v1/stores/" + url.PathEscape(id)
}

var client = &http.Client{
	Timeout: 30 * time.Second,
	// A redirect would send the key to another server.
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

// send sends GET, or POST with a body, and parses the answer.
func send(address, header, credential string, body, answer any) error {
	method, data := http.MethodGet, []byte(nil)
	if body != nil {
		encoded, err := json.Marshal(body)
		if err != nil {
			return err
		}
		method, data = http.MethodPost, encoded
	}
	request, err := http.NewRequest(method, address, bytes.NewReader(data))
	if err != nil {
		return err
	}
	request.Header.Set(header, credential)
	request.Header.Set("Content-Type", "application/json")
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if response.StatusCode >= 300 {
		problem := &Error{}
		_ = json.Unmarshal(text, problem) // an answer of a proxy may not be JSON
		problem.Status = response.StatusCode
		return problem
	}
	return json.Unmarshal(text, answer)
}
