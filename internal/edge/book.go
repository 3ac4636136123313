package edge

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"mooring"
)

// Store finds claims and logins.
type Store interface {
	Slots(ctx context.Context) (mooring.SlotBook, error)
	EdgeNumbers(ctx context.Context) (slots, logouts int64, err error)
	Login(ctx context.Context, token []byte) (mooring.Login, bool, error)
}

const (
	// lookEvery is how soon this process hears of what others have changed.
	lookEvery = 2 * time.Second
	// trustFor is how long claims that were read count without having been confirmed: a store that is away for a moment cuts nobody off.
	trustFor   = 10 * time.Second
	storeWait  = 5 * time.Second
	seenEvery  = time.Hour
	wavePeriod = 5 * time.Minute
	newFor     = time.Hour // since the claim; then a tenant is one who has been here before
	// waveLeast tenants who have been here and as many strangers, all at once, are what the guard against a changed subject looks for.
	waveLeast = 5
)

// book is the claims as this process knows them. What it holds may be old by a few seconds, and is never more than the store has said.
type book struct {
	store   Store
	commit  func(ctx context.Context, c mooring.Change) error
	keyID   string
	now     func() time.Time
	log     *slog.Logger
	witness string // file that holds the highest number seen; "" for none

	noting sync.Mutex // guards that file

	mu        sync.Mutex // guards what follows
	claims    map[mooring.TenantKey]mooring.Claim
	all       []mooring.Claim
	changes   int64
	logouts   int64
	confirmed time.Time
	lost      bool // the store is older than what has been seen of it
	wave      wave
}

// load reads the claims at the start, and whether the store is the one that was last seen.
func (b *book) load(ctx context.Context) error {
	if b.witness != "" {
		raw, err := os.ReadFile(b.witness)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("read how far the slots' store had come: %w", err)
		}
		if b.changes, err = strconv.ParseInt(strings.TrimSpace(string(raw)), 10, 64); err != nil && len(raw) > 0 {
			return fmt.Errorf("%s holds no number", b.witness)
		}
	}
	return b.look(ctx)
}

// look asks the store whether claims have changed and reads them if so.
func (b *book) look(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, storeWait)
	defer cancel()
	asked := b.now()
	changes, logouts, err := b.store.EdgeNumbers(ctx)
	if err != nil {
		return err
	}
	b.mu.Lock()
	known, same := b.changes, changes == b.changes && b.claims != nil && !b.lost
	b.logouts = logouts
	if same && asked.After(b.confirmed) {
		b.confirmed = asked
	}
	b.mu.Unlock()
	if same {
		return nil
	}
	read, err := b.store.Slots(ctx)
	if err != nil {
		return err
	}
	return b.take(ctx, &read, known, asked)
}

// take takes over what was read by somebody who knew that many changes when asking. Several read at the same time: what another one has
// taken over meanwhile may be newer, and says nothing against this one.
func (b *book) take(ctx context.Context, read *mooring.SlotBook, known int64, asked time.Time) error {
	claims := map[mooring.TenantKey]mooring.Claim{}
	for _, c := range read.Claims {
		if c.Key == "" {
			continue
		}
		if other, twice := claims[c.Key]; twice {
			return fmt.Errorf("slots %s and %s belong to one tenant", other.Slot, c.Slot)
		}
		claims[c.Key] = c
	}
	if !b.replace(ctx, claims, read, known, asked) {
		return nil
	}
	return b.noteWitness()
}

// replace gives false where what was read is older than what is known.
func (b *book) replace(ctx context.Context, claims map[mooring.TenantKey]mooring.Claim, read *mooring.SlotBook, known int64, asked time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if read.Changes < known {
		if !b.lost {
			b.log.LogAttrs(ctx, slog.LevelError, "the store holds less of the slots than it did: nobody is let in, and no slot is given away",
				slog.Int64("was", b.changes), slog.Int64("is", read.Changes))
		}
		b.lost = true
		return false
	}
	if read.Changes < b.changes {
		return false
	}
	b.claims, b.all, b.changes, b.confirmed, b.lost = claims, read.Claims, read.Changes, asked, false
	return true
}

// noteWitness writes the number beside the store, whole or not at all.
func (b *book) noteWitness() error {
	if b.witness == "" {
		return nil
	}
	b.noting.Lock() // one file, written by one at a time; the last one writes what is known by then
	defer b.noting.Unlock()
	b.mu.Lock()
	changes := b.changes
	b.mu.Unlock()
	if changes == 0 {
		return nil
	}
	temp := filepath.Join(filepath.Dir(b.witness), "."+filepath.Base(b.witness)+".new")
	if err := os.WriteFile(temp, []byte(strconv.FormatInt(changes, 10)+"\n"), 0o600); err != nil {
		return fmt.Errorf("note how far the slots' store has come: %w", err)
	}
	return os.Rename(temp, b.witness)
}

// find gives a tenant's claim; false where it has none.
func (b *book) find(key mooring.TenantKey) (mooring.Claim, bool, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.lost {
		return mooring.Claim{}, false, storeDown(errors.New("the store is older than what was seen of it"))
	}
	if b.claims == nil || b.now().Sub(b.confirmed) > trustFor {
		return mooring.Claim{}, false, storeDown(errors.New("the claims have not been confirmed for a while"))
	}
	c, ok := b.claims[key]
	if now := b.now(); ok && now.Sub(c.ClaimedAt) > newFor {
		b.wave.known(key, now)
	}
	return c, ok, nil
}

// claim gives a tenant the first free slot of the list, or the one that it has got meanwhile.
func (b *book) claim(ctx context.Context, key mooring.TenantKey, slots []mooring.SlotName) (mooring.Claim, error) {
	if b.strangers(ctx, key) {
		return mooring.Claim{}, slotsFull()
	}
	ctx, cancel := context.WithTimeout(ctx, storeWait)
	defer cancel()
	c := &mooring.ClaimSlot{Key: key, KeyID: b.keyID, Order: preferred(key, slots), At: b.now()}
	if err := b.commit(ctx, c); err != nil {
		if mooring.CodeOf(err) == mooring.CodeSlotsFull {
			return mooring.Claim{}, slotsFull()
		}
		return mooring.Claim{}, storeDown(err)
	}
	if err := b.look(ctx); err != nil {
		return mooring.Claim{}, storeDown(err)
	}
	return c.Won, nil
}

// preferred orders slots for a tenant by rendezvous, so that a tenant who is released comes back to the same place where it is free.
func preferred(key mooring.TenantKey, slots []mooring.SlotName) []mooring.SlotName {
	weight := func(s mooring.SlotName) string {
		h := sha256.New()
		writeSized(h, string(key))
		writeSized(h, string(s))
		return string(h.Sum(nil))
	}
	weights := map[mooring.SlotName]string{}
	for _, s := range slots {
		weights[s] = weight(s)
	}
	return slices.SortedFunc(slices.Values(slots), func(x, y mooring.SlotName) int { return strings.Compare(weights[y], weights[x]) })
}

// seen notes, once an hour, that a tenant is there.
func (b *book) seen(ctx context.Context, c mooring.Claim) {
	now := b.now()
	b.mu.Lock()
	is, ok := b.claims[c.Key]
	due := ok && now.Sub(is.SeenAt) >= seenEvery
	if due {
		is.SeenAt = now
		b.claims[c.Key] = is
	}
	b.mu.Unlock()
	if !due {
		return
	}
	if err := b.commit(ctx, &mooring.SlotSeen{Key: c.Key, At: now}); err != nil {
		b.log.LogAttrs(ctx, slog.LevelWarn, "a tenant's visit was not noted", slog.String("slot", string(c.Slot)), slog.Any("err", err))
	}
}

// wave watches for the day on which the identity source changes what it calls people: all who had a slot fall silent and as many
// strangers ask for one.
type wave struct {
	since           time.Time
	knowns, unknown map[mooring.TenantKey]bool
	told            bool
}

// turn begins a new count once the last one is old. A wave goes on until somebody comes who has been here before: else each count would give
// the first few of it slots.
func (w *wave) turn(now time.Time) {
	if w.knowns != nil && now.Sub(w.since) <= wavePeriod {
		return
	}
	next := wave{since: now, knowns: map[mooring.TenantKey]bool{}, unknown: map[mooring.TenantKey]bool{}}
	if w.told && len(w.knowns) == 0 {
		next.unknown, next.told = w.unknown, true
	}
	*w = next
}

func (w *wave) known(key mooring.TenantKey, now time.Time) {
	w.turn(now)
	w.knowns[key] = true
}

// strangers says whether one more unknown tenant is part of such a wave.
func (b *book) strangers(ctx context.Context, key mooring.TenantKey) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	now, old := b.now(), 0
	b.wave.turn(now)
	b.wave.unknown[key] = true
	for _, c := range b.claims {
		if now.Sub(c.ClaimedAt) > newFor {
			old++
		}
	}
	if old < waveLeast || len(b.wave.unknown) < waveLeast || len(b.wave.unknown) <= len(b.wave.knowns) {
		return false
	}
	if !b.wave.told {
		b.wave.told = true
		b.log.LogAttrs(ctx, slog.LevelError, "many unknown tenants ask for slots while known ones are silent: has the identity source changed how it names people? No slot is given away",
			slog.Int("unknown", len(b.wave.unknown)), slog.Int("known", len(b.wave.knowns)))
	}
	return true
}

// sound is an error where the store cannot say whose the slots are.
func (b *book) sound() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.lost {
		return nil
	}
	return &mooring.Error{
		Code: mooring.CodeStoreUnavailable, Err: errors.New("the store is older than what was seen of it"),
		Safe: "The store is older than what was seen of it: whose the slots are is not known. See the documentation on restoring a backup.",
	}
}

// rows gives every slot that anybody has had, in order.
func (b *book) rows() []mooring.Claim {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.all)
}

// otherSalt counts the claims that were made under another salt than this one.
func (b *book) otherSalt() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return UnderOtherSalt(b.all, b.keyID)
}

// UnderOtherSalt counts the claims that were made under another salt than the one of that name: their tenants have other keys now, so they
// do not come back to their slots, and nobody else gets these.
func UnderOtherSalt(claims []mooring.Claim, keyID string) int {
	n := 0
	for _, c := range claims {
		if c.Key != "" && c.KeyID != keyID {
			n++
		}
	}
	return n
}

// current gives the claims and the number of logouts as they are known.
func (b *book) current() (claims map[mooring.TenantKey]mooring.Claim, logouts int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return maps.Clone(b.claims), b.logouts
}

// tenantKey is what a slot is told instead of who somebody is.
func tenantKey(salt []byte, issuer, subject string) mooring.TenantKey {
	h := hmac.New(sha256.New, salt)
	writeSized(h, issuer)
	writeSized(h, subject)
	return mooring.TenantKey("t1-" + strings.ToLower(base32Of(h.Sum(nil)[:20])))
}

// KeyIDOf names a salt without saying anything of it: claims hold it as their KeyID.
func KeyIDOf(salt []byte) string {
	h := hmac.New(sha256.New, salt)
	writeSized(h, "which salt this is")
	return hex.EncodeToString(h.Sum(nil)[:4])
}
