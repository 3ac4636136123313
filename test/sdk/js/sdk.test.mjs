// The official JavaScript SDKs against the server at MOORING_URL; js_test.go starts it.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'

const url = process.env.MOORING_URL
const wrongKey = process.env.WRONG_KEY
const user = (content) => ({ role: 'user', content })
const assistant = (content) => ({ role: 'assistant', content })
const openai = (apiKey = 'sk-any') => new OpenAI({ apiKey, baseURL: `${url}/v1`, maxRetries: 0 })
const anthropic = (apiKey = 'sk-any') => new Anthropic({ apiKey, baseURL: url, maxRetries: 0 })

// The answers' numbers depend on the order of the tests, so the texts are compared with what the SDK was given.
async function wantSession(id, ...texts) {
  const answer = await fetch(`${url}/api/sessions/${id}/messages?limit=200`)
  assert.equal(answer.status, 200)
  const { messages } = await answer.json()
  assert.deepEqual(messages.map((m) => m.text), texts)
}

test('openai: a buffered and a streamed turn are one session', async () => {
  const { data: first, response } = await openai().chat.completions
    .create({ model: 'fake-1', messages: [user('openai first')] }).withResponse()
  const id = response.headers.get('x-session-id')
  assert.ok(id)
  const said = first.choices[0].message.content
  assert.match(said, /^This is answer \d+\.$/)
  const stream = await openai().chat.completions.create(
    { model: 'fake-1', stream: true, messages: [user('openai first'), assistant(said), user('openai second')] },
    { headers: { 'X-Session-Id': id } },
  )
  let text = ''
  for await (const chunk of stream) text += chunk.choices[0]?.delta?.content ?? ''
  assert.match(text, /^This is answer \d+\.$/)
  await wantSession(id, 'openai first', said, 'openai second', text)
})

test('openai: the upstream refuses the key', async () => {
  await assert.rejects(
    openai(wrongKey).chat.completions.create({ model: 'fake-1', messages: [user('refused')] }),
    (err) => err instanceof OpenAI.AuthenticationError && err.status === 401 && err.code === 'invalid_api_key',
  )
})

test('anthropic: a buffered and a streamed turn are one session', async () => {
  const { data: first, response } = await anthropic().messages
    .create({ model: 'fake-1', max_tokens: 100, messages: [user('anthropic first')] }).withResponse()
  const id = response.headers.get('x-session-id')
  assert.ok(id)
  const said = first.content[0].text
  const second = await anthropic().messages.stream(
    { model: 'fake-1', max_tokens: 100, messages: [user('anthropic first'), assistant(said), user('anthropic second')] },
    { headers: { 'X-Session-Id': id } },
  ).finalMessage()
  assert.match(second.content[0].text, /^This is answer \d+\.$/)
  assert.equal(second.stop_reason, 'end_turn')
  await wantSession(id, 'anthropic first', said, 'anthropic second', second.content[0].text)
})

test('anthropic: the upstream refuses the key', async () => {
  await assert.rejects(
    anthropic(wrongKey).messages.create({ model: 'fake-1', max_tokens: 100, messages: [user('refused')] }),
    (err) => err instanceof Anthropic.AuthenticationError && err.status === 401,
  )
})
