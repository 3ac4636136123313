package mooring

import (
	"errors"
	"fmt"
	"time"
)

// Code names an error to a client program; CONTRACT 3.5 lists those that leave the house.
type Code string

// Codes that a client may see.
const (
	CodeInvalidJSON          Code = "invalid_json"
	CodeMessagesRequired     Code = "messages_required"
	CodeInvalidContent       Code = "invalid_content"
	CodeEmptyMessage         Code = "empty_message"
	CodeInvalidSessionID     Code = "invalid_session_id"
	CodeInvalidRequest       Code = "invalid_request"
	CodeInvalidAPIKey        Code = "invalid_api_key"
	CodeOriginForbidden      Code = "origin_forbidden"
	CodeHostForbidden        Code = "host_forbidden"
	CodeOperatorRequired     Code = "operator_required"
	CodeSessionNotFound      Code = "session_not_found"
	CodeModelNotFound        Code = "model_not_found"
	CodeNotFound             Code = "not_found"
	CodeAmbiguousKey         Code = "ambiguous_key"
	CodeTranscriptsOff       Code = "transcripts_off"
	CodeLinearHistory        Code = "linear_history"
	CodeTurnCancelled        Code = "turn_cancelled"
	CodeMethodNotAllowed     Code = "method_not_allowed"
	CodeRequestTimeout       Code = "request_timeout"
	CodeBodyTooLarge         Code = "body_too_large"
	CodeUnsupportedMediaType Code = "unsupported_media_type"
	CodeUpgradeUnsupported   Code = "upgrade_unsupported"
	CodeSessionBusy          Code = "session_busy"
	CodeKeyLimit             Code = "key_limit"
	CodeUpstreamError        Code = "upstream_error"
	CodeUpstreamUnavailable  Code = "upstream_unavailable"
	CodeUpstreamTimeout      Code = "upstream_timeout"
	CodeStoreUnavailable     Code = "store_unavailable"
	CodeShuttingDown         Code = "shutting_down"
	CodeInternal             Code = "internal_error"

	CodeSessionProfileMismatch Code = "session_profile_mismatch"

	// The tenant edge's own.
	CodeBadRequest       Code = "bad_request"
	CodeIdentityRequired Code = "identity_required"
	CodeSlotsFull        Code = "slots_full"
)

// Codes that stay in the house: outcomes of a race.
const (
	CodeSessionTaken Code = "session_taken"
	CodeSessionGone  Code = "session_gone"
	CodeTurnFenced   Code = "turn_fenced"
	CodeTurnLost     Code = "turn_lost"
	CodeSlotChanged  Code = "slot_changed"
	CodeSpent        Code = "spent"
	CodeLoginBusy    Code = "login_busy"
)

// ErrorKind is what callers branch on.
type ErrorKind string

// The kinds.
const (
	KindInvalid         ErrorKind = "invalid"
	KindDenied          ErrorKind = "denied"
	KindNotFound        ErrorKind = "not_found"
	KindConflict        ErrorKind = "conflict"
	KindBusy            ErrorKind = "busy"
	KindUpstreamFailure ErrorKind = "upstream"
	KindStore           ErrorKind = "store"
	KindInternal        ErrorKind = "internal"
)

// Error is an error with a code for programs and words for people.
type Error struct {
	Code       Code
	Safe       string        // may be shown to the client; says what to do
	RetryAfter time.Duration // 0 for none
	Err        error         // for the log only
}

// Error gives code, safe words and cause, for the log.
func (e *Error) Error() string {
	switch {
	case e.Err != nil && e.Safe != "":
		return fmt.Sprintf("%s: %s: %v", e.Code, e.Safe, e.Err)
	case e.Err != nil:
		return fmt.Sprintf("%s: %v", e.Code, e.Err)
	}
	return string(e.Code) + ": " + e.Safe
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

// Errorf is an error whose words may be shown to the client.
func Errorf(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Safe: fmt.Sprintf(format, args...)}
}

// CodeOf gives the code of the first Error in the chain, CodeInternal where there is none.
func CodeOf(err error) Code {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	return CodeInternal
}

// KindOf gives the kind of an error's code.
func KindOf(err error) ErrorKind {
	switch CodeOf(err) {
	case CodeInvalidJSON, CodeMessagesRequired, CodeInvalidContent, CodeEmptyMessage, CodeInvalidSessionID, CodeInvalidRequest,
		CodeMethodNotAllowed, CodeRequestTimeout, CodeBodyTooLarge, CodeUnsupportedMediaType, CodeUpgradeUnsupported, CodeBadRequest:
		return KindInvalid
	case CodeInvalidAPIKey, CodeOriginForbidden, CodeHostForbidden, CodeOperatorRequired, CodeIdentityRequired:
		return KindDenied
	case CodeSessionNotFound, CodeModelNotFound, CodeNotFound, CodeSessionGone:
		return KindNotFound
	case CodeAmbiguousKey, CodeTurnCancelled, CodeSessionTaken, CodeTranscriptsOff, CodeLinearHistory, CodeSessionProfileMismatch,
		CodeTurnFenced, CodeTurnLost, CodeSlotChanged, CodeSpent, CodeLoginBusy:
		return KindConflict
	case CodeSessionBusy, CodeKeyLimit, CodeSlotsFull:
		return KindBusy
	case CodeUpstreamError, CodeUpstreamUnavailable, CodeUpstreamTimeout:
		return KindUpstreamFailure
	case CodeStoreUnavailable, CodeShuttingDown:
		return KindStore
	case CodeInternal:
		return KindInternal
	default:
		return KindInternal
	}
}
