package problem

import (
	"net/http"

	"mooring"
)

// row is an error's status and its type in the words of the two families of SDKs.
type row struct {
	status            int
	openai, anthropic string
}

// rowOf is the table of CONTRACT 3.5.
func rowOf(code mooring.Code) row {
	switch code {
	case mooring.CodeInvalidJSON, mooring.CodeMessagesRequired, mooring.CodeInvalidContent, mooring.CodeEmptyMessage,
		mooring.CodeInvalidSessionID, mooring.CodeInvalidRequest, mooring.CodeBadRequest:
		return invalid(http.StatusBadRequest)
	case mooring.CodeInvalidAPIKey, mooring.CodeIdentityRequired:
		return row{http.StatusUnauthorized, "authentication_error", "authentication_error"}
	case mooring.CodeOriginForbidden, mooring.CodeHostForbidden, mooring.CodeOperatorRequired:
		return row{http.StatusForbidden, "permission_error", "permission_error"}
	case mooring.CodeSessionNotFound, mooring.CodeModelNotFound, mooring.CodeNotFound, mooring.CodeSessionGone:
		return row{http.StatusNotFound, "invalid_request_error", "not_found_error"}
	case mooring.CodeAmbiguousKey, mooring.CodeTurnCancelled, mooring.CodeTranscriptsOff, mooring.CodeLinearHistory, mooring.CodeSessionProfileMismatch,
		mooring.CodeSlotChanged:
		return invalid(http.StatusConflict)
	case mooring.CodeMethodNotAllowed:
		return invalid(http.StatusMethodNotAllowed)
	case mooring.CodeRequestTimeout:
		return row{http.StatusRequestTimeout, "timeout_error", "timeout_error"}
	case mooring.CodeBodyTooLarge:
		return row{http.StatusRequestEntityTooLarge, "invalid_request_error", "request_too_large"}
	case mooring.CodeUnsupportedMediaType:
		return invalid(http.StatusUnsupportedMediaType)
	case mooring.CodeUpgradeUnsupported:
		return invalid(http.StatusUpgradeRequired)
	case mooring.CodeSessionBusy, mooring.CodeKeyLimit:
		return row{http.StatusTooManyRequests, "rate_limit_error", "rate_limit_error"}
	case mooring.CodeUpstreamError:
		return failed(http.StatusBadGateway)
	case mooring.CodeUpstreamUnavailable, mooring.CodeStoreUnavailable, mooring.CodeShuttingDown, mooring.CodeSlotsFull:
		return row{http.StatusServiceUnavailable, "server_error", "overloaded_error"}
	case mooring.CodeUpstreamTimeout:
		return row{http.StatusGatewayTimeout, "server_error", "timeout_error"}
	case mooring.CodeInternal, mooring.CodeSessionTaken:
		return failed(http.StatusInternalServerError)
	case mooring.CodeTurnFenced, mooring.CodeTurnLost, mooring.CodeSpent, mooring.CodeLoginBusy: // they stay in the house
		return row{}
	default:
		return row{}
	}
}

// known says that a code has a row and may leave the house.
func known(code mooring.Code) bool {
	return rowOf(code).status != 0 && code != mooring.CodeSessionTaken
}

func invalid(status int) row { return row{status, "invalid_request_error", "invalid_request_error"} }

func failed(status int) row { return row{status, "server_error", "api_error"} }
