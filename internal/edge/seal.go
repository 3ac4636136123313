package edge

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
)

var errSealed = errors.New("what was sealed cannot be opened")

// sealer keeps things from those who hold them: cookies from browsers, tokens from the store.
type sealer struct {
	aead cipher.AEAD
	mark []byte
}

func newSealer(secret []byte) *sealer {
	block, err := aes.NewCipher(derive(secret, "sealing"))
	if err != nil {
		panic(err) // the key has the right length
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		panic(err) // as above
	}
	return &sealer{aead: aead, mark: derive(secret, "digests")}
}

// seal encrypts a value for one place.
func (s *sealer) seal(place string, value any) ([]byte, error) {
	plain, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	nonce := random(s.aead.NonceSize())
	return s.aead.Seal(nonce, nonce, plain, []byte(place)), nil
}

// open decrypts what was sealed for that place.
func (s *sealer) open(place string, sealed []byte, value any) error {
	n := s.aead.NonceSize()
	if len(sealed) < n {
		return errSealed
	}
	plain, err := s.aead.Open(nil, sealed[:n], sealed[n:], []byte(place))
	if err != nil {
		return errSealed
	}
	return json.Unmarshal(plain, value)
}

// digest is what is kept of a thing instead of it.
func (s *sealer) digest(parts ...string) []byte {
	h := hmac.New(sha256.New, s.mark)
	for _, part := range parts {
		writeSized(h, part)
	}
	return h.Sum(nil)
}

func random(n int) []byte {
	raw := make([]byte, n)
	_, _ = rand.Read(raw) // it never fails
	return raw
}

func token() string { return base64.RawURLEncoding.EncodeToString(random(32)) }
