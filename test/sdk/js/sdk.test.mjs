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

test('openai: responses follow each other, buffered, streamed and by their history', async () => {
  const client = openai()
  const { data: first, response } = await client.responses.create({ model: 'fake-1', input: 'responses first' }).withResponse()
  const id = response.headers.get('x-session-id')
  assert.match(first.output_text, /^This is answer \d+\.$/)
  const stream = await client.responses.create({ model: 'fake-1', stream: true, input: 'responses second', previous_response_id: first.id })
  let text = ''
  let completed
  for await (const event of stream) {
    if (event.type === 'response.output_text.delta') text += event.delta
    if (event.type === 'response.completed') completed = event.response
  }
  assert.match(text, /^This is answer \d+\.$/)
  assert.ok(completed?.usage?.output_tokens)
  const history = [user('responses first'), ...first.output, user('responses second'), ...completed.output, user('responses third')]
  const third = await client.responses.create({ model: 'fake-1', store: false, input: history }, { headers: { 'X-Session-Id': id } })
  await wantSession(id, 'responses first', first.output_text, 'responses second', text, 'responses third', third.output_text)
})

test('openai: a client without ids stays in its session, and begins anew', async () => {
  const client = openai()
  const messages = [user('nameless first')]
  const ids = new Set()
  for (const next of ['nameless second', '/new', 'nameless third']) {
    const { data, response } = await client.chat.completions.create({ model: 'fake-1', messages }).withResponse()
    ids.add(response.headers.get('x-mooring-session'))
    messages.push(data.choices[0].message, user(next))
  }
  assert.equal(ids.size, 2, 'the third request, the command, is in a fresh session')
  const { data, response } = await client.chat.completions.create({ model: 'fake-1', messages }).withResponse()
  assert.ok(ids.has(response.headers.get('x-mooring-session')))
  await wantSession(response.headers.get('x-mooring-session'), 'nameless third', data.choices[0].message.content)
})

test('anthropic: a token count joins the session and changes nothing in it', async () => {
  const client = anthropic()
  const { data: first, response } = await client.messages
    .create({ model: 'fake-1', max_tokens: 100, messages: [user('counted first')] }).withResponse()
  const messages = [user('counted first'), assistant(first.content), user('counted second')]
  const { data, response: counted } = await client.messages.countTokens({ model: 'fake-1', messages }).withResponse()
  assert.ok(data.input_tokens > 0)
  assert.equal(counted.headers.get('x-mooring-kind'), 'side')
  assert.equal(counted.headers.get('x-mooring-session'), response.headers.get('x-mooring-session'))
  await wantSession(response.headers.get('x-session-id'), 'counted first', first.content[0].text)
})
