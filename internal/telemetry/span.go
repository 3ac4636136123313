package telemetry

import (
	"strconv"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	"go.opentelemetry.io/otel/trace"

	"mooring"
)

// Attributes are named as OpenTelemetry's conventions for generative models do (of version 1.41), where those have a name.

func turnAttributes(t *mooring.Turn) []attribute.KeyValue {
	list := []attribute.KeyValue{
		operationKey(t), provider(t), semconv.GenAIRequestModel(t.Model), semconv.GenAIRequestStream(t.Stream), semconv.GenAIConversationID(string(t.Session)),
		attribute.String("mooring.turn", string(t.ID)), attribute.String("mooring.kind", string(t.Kind)), attribute.String("mooring.protocol", string(t.Protocol)),
		attribute.String("mooring.state", string(t.State)), attribute.String("mooring.tenant", string(t.Tenant)), attribute.String("mooring.key_name", string(t.Key)),
		attribute.String("mooring.identity", t.Identity), attribute.String("mooring.upstream", string(t.Upstream)), attribute.String("mooring.pin", string(t.Pin)),
	}
	if t.Status > 0 {
		list = append(list, semconv.HTTPResponseStatusCode(t.Status))
	}
	if t.Stream && !t.FirstAt.IsZero() {
		list = append(list, semconv.GenAIResponseTimeToFirstChunk(t.FirstAt.Sub(t.StartedAt).Seconds()))
	}
	if t.CostUSD != nil {
		list = append(list, attribute.Float64("mooring.cost_usd", *t.CostUSD))
	}
	return withError(list, turnError(t))
}

// attemptAttributes has the usage too, which the turn's own span leaves out: who sums over spans counts it once.
func (t *Tracer) attemptAttributes(turn *mooring.Turn, a *mooring.Attempt) []attribute.KeyValue {
	list := []attribute.KeyValue{
		operationKey(turn), provider(turn), semconv.GenAIRequestModel(turn.Model), semconv.GenAIConversationID(string(turn.Session)),
		attribute.String("mooring.turn", string(turn.ID)), attribute.String("mooring.upstream", string(a.Upstream)),
		attribute.String("mooring.account", string(a.Account)), attribute.String("mooring.state", string(a.State)),
	}
	if host, port := t.server(a.Upstream); host != "" {
		list = append(list, semconv.ServerAddress(host), semconv.ServerPort(port))
	}
	if a.Answered != "" {
		list = append(list, semconv.GenAIResponseModel(a.Answered))
	}
	if a.Status > 0 {
		list = append(list, semconv.HTTPResponseStatusCode(a.Status))
	}
	u := a.Usage
	for _, n := range []struct {
		count mooring.Tokens
		key   attribute.Key
	}{
		{u.Input.Add(u.CacheRead).Add(u.CacheWrite5m).Add(u.CacheWrite1h), semconv.GenAIUsageInputTokensKey}, // the convention counts cached ones in
		{u.Output, semconv.GenAIUsageOutputTokensKey},
		{u.CacheRead, semconv.GenAIUsageCacheReadInputTokensKey},
		{u.CacheWrite5m.Add(u.CacheWrite1h), semconv.GenAIUsageCacheCreationInputTokensKey},
	} {
		if n.count.Known {
			list = append(list, n.key.Int64(n.count.N))
		}
	}
	return withError(list, attemptError(a))
}

func operation(t *mooring.Turn) string { return operationKey(t).Value.AsString() }

func operationKey(t *mooring.Turn) attribute.KeyValue {
	if t.Protocol == mooring.Completions {
		return semconv.GenAIOperationNameTextCompletion
	}
	return semconv.GenAIOperationNameChat
}

// provider is whose conventions the request follows; who runs the model nobody here knows.
func provider(t *mooring.Turn) attribute.KeyValue {
	if t.Protocol == mooring.Messages {
		return semconv.GenAIProviderNameAnthropic
	}
	return semconv.GenAIProviderNameOpenAI
}

func withError(list []attribute.KeyValue, what string) []attribute.KeyValue {
	if what == "" {
		return list
	}
	return append(list, semconv.ErrorTypeKey.String(what))
}

// turnError is the kind of error that a turn ended with; empty for none. That its client went away is none.
func turnError(t *mooring.Turn) string {
	switch {
	case t.State != mooring.Failed && t.State != mooring.Interrupted:
		return ""
	case t.ErrorCode != "":
		return string(t.ErrorCode)
	case t.Status >= badStatus:
		return strconv.Itoa(t.Status)
	}
	return string(t.State)
}

func attemptError(a *mooring.Attempt) string {
	switch {
	case a.State != mooring.Failed && a.State != mooring.Interrupted:
		return ""
	case a.Status >= badStatus:
		return strconv.Itoa(a.Status)
	}
	return string(a.State)
}

const badStatus = 400

func setStatus(span trace.Span, what, why string) {
	if what != "" {
		span.SetStatus(codes.Error, why)
	}
}

// lastReason says in the product's own words why a turn's last attempt did not complete.
func lastReason(t *mooring.Turn) string {
	if n := len(t.Attempts); n > 0 {
		return t.Attempts[n-1].Reason
	}
	return ""
}
