package problem_test

import (
	"errors"
	"fmt"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mooring"
	"mooring/internal/problem"
)

func TestStatus(t *testing.T) {
	t.Parallel()
	for code, want := range map[mooring.Code]int{
		mooring.CodeInvalidJSON: 400, mooring.CodeMessagesRequired: 400, mooring.CodeInvalidContent: 400, mooring.CodeEmptyMessage: 400,
		mooring.CodeInvalidSessionID: 400, mooring.CodeInvalidRequest: 400, mooring.CodeInvalidAPIKey: 401, mooring.CodeOriginForbidden: 403,
		mooring.CodeHostForbidden: 403, mooring.CodeOperatorRequired: 403, mooring.CodeSessionNotFound: 404, mooring.CodeModelNotFound: 404,
		mooring.CodeNotFound: 404, mooring.CodeAmbiguousKey: 409, mooring.CodeTurnCancelled: 409, mooring.CodeMethodNotAllowed: 405,
		mooring.CodeRequestTimeout: 408, mooring.CodeBodyTooLarge: 413, mooring.CodeUnsupportedMediaType: 415,
		mooring.CodeUpgradeUnsupported: 426, mooring.CodeSessionBusy: 429, mooring.CodeKeyLimit: 429, mooring.CodeUpstreamError: 502,
		mooring.CodeUpstreamUnavailable: 503, mooring.CodeStoreUnavailable: 503, mooring.CodeShuttingDown: 503,
		mooring.CodeUpstreamTimeout: 504, mooring.CodeInternal: 500, mooring.CodeSessionTaken: 500, mooring.CodeSessionGone: 404,
		"unheard_of": 500,
	} {
		if got := problem.Status(fmt.Errorf("wrapped: %w", mooring.Errorf(code, "x"))); got != want {
			t.Errorf("Status(%s) = %d, want %d", code, got, want)
		}
	}
	if got := problem.Status(errors.New("x")); got != 500 {
		t.Errorf("Status of an error without code = %d, want 500", got)
	}
}

func TestWrite(t *testing.T) {
	t.Parallel()
	cause := errors.New("secret cause")
	for _, tt := range []struct {
		rule     string
		protocol mooring.Protocol
		err      error
		status   int
		code     string
		retry    string
		body     string
	}{
		{
			rule: "OpenAI's envelope", protocol: mooring.Chat, err: mooring.Errorf(mooring.CodeModelNotFound, "no %q here", "<m&m>"), status: 404,
			code: "model_not_found", body: `{"error":{"message":"no \"<m&m>\" here","type":"invalid_request_error","param":null,"code":"model_not_found"}}`,
		},
		{
			rule: "the session API has it too", protocol: mooring.API, err: mooring.Errorf(mooring.CodeSessionNotFound, "no"), status: 404,
			code: "session_not_found", body: `{"error":{"message":"no","type":"invalid_request_error","param":null,"code":"session_not_found"}}`,
		},
		{
			rule: "Anthropic's envelope", protocol: mooring.Messages, err: mooring.Errorf(mooring.CodeBodyTooLarge, "no"), status: 413,
			code: "body_too_large", body: `{"type":"error","error":{"type":"request_too_large","message":"no"}}`,
		},
		{
			rule: "the wait is rounded up", protocol: mooring.Chat, err: &mooring.Error{Code: mooring.CodeKeyLimit, Safe: "wait", RetryAfter: 1100 * time.Millisecond},
			status: 429, code: "key_limit", retry: "2", body: `{"error":{"message":"wait","type":"rate_limit_error","param":null,"code":"key_limit"}}`,
		},
		{
			rule: "a moment is a second", protocol: mooring.Messages, err: &mooring.Error{Code: mooring.CodeSessionBusy, Safe: "wait", RetryAfter: 1},
			status: 429, code: "session_busy", retry: "1", body: `{"type":"error","error":{"type":"rate_limit_error","message":"wait"}}`,
		},
		{
			rule: "a cause is not shown", protocol: mooring.Chat, err: &mooring.Error{Code: mooring.CodeStoreUnavailable, Safe: "try again", Err: cause},
			status: 503, code: "store_unavailable", body: `{"error":{"message":"try again","type":"server_error","param":null,"code":"store_unavailable"}}`,
		},
		{
			rule: "nor without safe words", protocol: mooring.Chat, err: &mooring.Error{Code: mooring.CodeUpstreamError, Err: cause},
			status: 502, code: "upstream_error", body: `{"error":{"message":"Internal error.","type":"server_error","param":null,"code":"upstream_error"}}`,
		},
		{
			rule: "nor of an unknown error", protocol: mooring.Messages, err: cause, status: 500, code: "internal_error",
			body: `{"type":"error","error":{"type":"api_error","message":"Internal error."}}`,
		},
		{
			rule: "a code of the house stays there", protocol: mooring.Chat, err: mooring.Errorf(mooring.CodeSessionGone, "gone"), status: 404,
			code: "session_not_found", body: `{"error":{"message":"gone","type":"invalid_request_error","param":null,"code":"session_not_found"}}`,
		},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			t.Parallel()
			rec := httptest.NewRecorder()
			rec.Header().Set("Content-Length", "7") // of the answer that was meant to be
			problem.Write(rec, tt.protocol, tt.err)
			r := rec.Result()
			defer r.Body.Close()
			want := map[string]string{"Content-Type": "application/json", "Cache-Control": "no-store", "X-Mooring-Error": tt.code, "Retry-After": tt.retry, "Content-Length": ""}
			got := map[string]string{}
			for name := range want {
				got[name] = r.Header.Get(name)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("headers (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.body, rec.Body.String()); r.StatusCode != tt.status || diff != "" {
				t.Errorf("status = %d, want %d; body (-want +got):\n%s", r.StatusCode, tt.status, diff)
			}
		})
	}
}

func TestUnauthorizedNamesTheScheme(t *testing.T) {
	t.Parallel()
	rec := httptest.NewRecorder()
	problem.Write(rec, mooring.Chat, mooring.Errorf(mooring.CodeInvalidAPIKey, "x"))
	if got := rec.Header().Get("WWW-Authenticate"); got != "Bearer" {
		t.Errorf("WWW-Authenticate = %q, want Bearer", got)
	}
}

func TestProtocolOf(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]mooring.Protocol{
		"/v1/messages": mooring.Messages, "/v1/messages/count_tokens": mooring.Messages, "/anthropic/v1/messages": mooring.Messages,
		"/openai/v1/messages": mooring.Messages, "/v1/messagesx": mooring.Chat, "/v1/chat/completions": mooring.Chat,
		"/openai/v1/chat/completions": mooring.Chat, "/anthropic/v1/chat/completions": mooring.Chat, "/anthropic/v1/models": mooring.Messages,
		"/v1/responses": mooring.Responses, "/v1/responses/resp_1": mooring.Responses, "/v1/completions": mooring.Completions,
		"/api": mooring.API, "/api/sessions": mooring.API, "/apix": mooring.Chat, "/v1/models": mooring.Chat, "/": mooring.Chat, "": mooring.Chat,
		"/anthropic": mooring.Chat,
	} {
		if got := problem.ProtocolOf(path); got != want {
			t.Errorf("ProtocolOf(%q) = %s, want %s", path, got, want)
		}
	}
}
