// Package sdk_test talks to the built binary with the official SDKs, the fake model server behind it.
package sdk_test

import (
	"errors"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"
	anthropicopt "github.com/anthropics/anthropic-sdk-go/v2/option"
	"github.com/google/go-cmp/cmp"
	"github.com/openai/openai-go/v3"
	openaiopt "github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"

	"mooring/internal/upstreamtest"
	"mooring/test/product"
)

var binary product.Binary

func TestMain(m *testing.M) { os.Exit(product.Run(m, &binary)) }

const wrongKey = "sk-wrong"

// start runs Mooring before a model server that refuses wrongKey.
func start(t *testing.T) *product.Server {
	t.Helper()
	upstream := upstreamtest.New(t)
	upstream.AlwaysFunc(func(r *upstreamtest.Request) upstreamtest.Reply {
		if strings.Contains(r.Header.Get("Authorization")+r.Header.Get("X-Api-Key"), wrongKey) {
			return upstreamtest.Failure(http.StatusUnauthorized)
		}
		return upstreamtest.Reply{}
	})
	return binary.Serve(t, product.Upstream(upstream.URL))
}

// twoTurns is what a session holds after the two requests of each test.
func twoTurns() []string {
	return []string{"user: first", "assistant: This is answer 1.", "user: second", "assistant: This is answer 2."}
}

func wantTexts(t *testing.T, s *product.Server, session string) {
	t.Helper()
	if diff := cmp.Diff(twoTurns(), s.Texts(t, session)); diff != "" {
		t.Errorf("session %s (-want +got):\n%s", session, diff)
	}
}

func openAI(s *product.Server, key string) openai.Client {
	return openai.NewClient(openaiopt.WithBaseURL(s.URL+"/v1/"), openaiopt.WithAPIKey(key), openaiopt.WithMaxRetries(0))
}

func TestOpenAI(t *testing.T) {
	t.Parallel()
	s := start(t)
	client := openAI(s, "sk-any")
	params := openai.ChatCompletionNewParams{Model: "fake-1", Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("first")}}
	var header *http.Response
	first, err := client.Chat.Completions.New(t.Context(), params, openaiopt.WithResponseInto(&header))
	if err != nil {
		t.Fatal(err)
	}
	id := header.Header.Get("X-Session-Id")
	params.Messages = append(params.Messages, openai.AssistantMessage(first.Choices[0].Message.Content), openai.UserMessage("second"))
	params.StreamOptions = openai.ChatCompletionStreamOptionsParam{IncludeUsage: openai.Bool(true)}
	stream := client.Chat.Completions.NewStreaming(t.Context(), params, openaiopt.WithHeader("X-Session-Id", id))
	var second openai.ChatCompletionAccumulator
	for stream.Next() {
		second.AddChunk(stream.Current())
	}
	if err := stream.Err(); err != nil {
		t.Fatal(err)
	}
	if got := second.Choices[0].Message.Content; got != "This is answer 2." || second.Usage.PromptTokens != 9 {
		t.Errorf("streamed answer = %q with %d tokens in, want the model's with 9", got, second.Usage.PromptTokens)
	}
	wantTexts(t, s, id)
}

func TestOpenAIResponses(t *testing.T) {
	t.Parallel()
	s := start(t)
	client := openAI(s, "sk-any")
	var header *http.Response
	params := responses.ResponseNewParams{Model: "fake-1", Input: responses.ResponseNewParamsInputUnion{OfString: openai.String("first")}}
	first, err := client.Responses.New(t.Context(), params, openaiopt.WithResponseInto(&header))
	if err != nil {
		t.Fatal(err)
	}
	params.Input, params.PreviousResponseID = responses.ResponseNewParamsInputUnion{OfString: openai.String("second")}, openai.String(first.ID)
	stream := client.Responses.NewStreaming(t.Context(), params)
	var text strings.Builder
	var tokens int64
	for stream.Next() {
		event := stream.Current()
		text.WriteString(event.Delta)
		tokens = max(tokens, event.Response.Usage.InputTokens)
	}
	if err := stream.Err(); err != nil {
		t.Fatal(err)
	}
	if text.String() != "This is answer 2." || tokens != 9 {
		t.Errorf("streamed answer = %q with %d tokens in, want the model's with 9", text.String(), tokens)
	}
	wantTexts(t, s, header.Header.Get("X-Session-Id"))
}

func TestOpenAIError(t *testing.T) {
	t.Parallel()
	s := start(t)
	client := openAI(s, wrongKey)
	_, err := client.Chat.Completions.New(t.Context(), openai.ChatCompletionNewParams{
		Model: "fake-1", Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("first")},
	})
	var e *openai.Error
	if !errors.As(err, &e) || e.StatusCode != http.StatusUnauthorized || e.Code != "invalid_api_key" {
		t.Errorf("error = %v, want the upstream's 401 as the SDK's own type", err)
	}
}

func anthropicClient(s *product.Server, key string) anthropic.Client {
	return anthropic.NewClient(anthropicopt.WithoutEnvironmentDefaults(), anthropicopt.WithBaseURL(s.URL),
		anthropicopt.WithAPIKey(key), anthropicopt.WithMaxRetries(0))
}

func question(text string) anthropic.MessageParam {
	return anthropic.NewUserMessage(anthropic.NewTextBlock(text))
}

func TestAnthropic(t *testing.T) {
	t.Parallel()
	s := start(t)
	client := anthropicClient(s, "sk-any")
	params := anthropic.MessageNewParams{Model: "fake-1", MaxTokens: 100, Messages: []anthropic.MessageParam{question("first")}}
	var header *http.Response
	first, err := client.Messages.New(t.Context(), params, anthropicopt.WithResponseInto(&header))
	if err != nil {
		t.Fatal(err)
	}
	id := header.Header.Get("X-Session-Id")
	params.Messages = append(params.Messages, first.ToParam(), question("second"))
	stream := client.Messages.NewStreaming(t.Context(), params, anthropicopt.WithHeader("X-Session-Id", id))
	var second anthropic.Message
	for stream.Next() {
		if err := second.Accumulate(stream.Current()); err != nil {
			t.Fatal(err)
		}
	}
	if err := stream.Err(); err != nil {
		t.Fatal(err)
	}
	if got := second.Content[0].Text; got != "This is answer 2." || second.Usage.InputTokens != 9 {
		t.Errorf("streamed answer = %q with %d tokens in, want the model's with 9", got, second.Usage.InputTokens)
	}
	wantTexts(t, s, id)
}

func TestAnthropicError(t *testing.T) {
	t.Parallel()
	s := start(t)
	client := anthropicClient(s, wrongKey)
	_, err := client.Messages.New(t.Context(), anthropic.MessageNewParams{
		Model: "fake-1", MaxTokens: 100, Messages: []anthropic.MessageParam{question("first")},
	})
	var e *anthropic.Error
	if !errors.As(err, &e) || e.StatusCode != http.StatusUnauthorized || e.Type() != "authentication_error" {
		t.Errorf("error = %v, want the upstream's 401 as the SDK's own type", err)
	}
}
