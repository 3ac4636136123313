// A model server whose answers the test controls. Unless a test holds a question, it answers "Answer N to: QUESTION" at once,
// N counting how often that question came.
import { once } from 'node:events'
import http from 'node:http'
import { patience } from './patience.mjs'

/** The text of the last user message, whichever shape its content has. */
function questionOf(body) {
  const last = body.messages?.findLast((m) => m.role === 'user')?.content ?? ''
  return typeof last === 'string' ? last : last.filter((part) => part.type === 'text').map((part) => part.text).join('\n')
}

/** One answer that waits for the test: it sends what it is told, when it is told. */
class Held {
  #question
  #response = null
  #arrive
  /** The request, once it is there. */
  arrived = new Promise((resolve) => { this.#arrive = resolve })
  #leave
  /** Resolves when the connection is closed before the answer has ended. */
  abandoned = new Promise((resolve) => { this.#leave = resolve })

  constructor(question) {
    this.#question = question
  }

  /** Waits for the request; one that never comes is said soon. */
  async #request() {
    let late
    const never = new Promise((_, reject) => { late = setTimeout(() => reject(new Error(`nobody asked the model: ${this.#question}`)), patience) })
    await Promise.race([this.arrived, never]).finally(() => clearTimeout(late))
  }

  take(request, response) {
    this.#response = response
    response.on('close', () => response.writableFinished || this.#leave())
    this.#arrive(request)
  }

  /** Streams a piece of text. */
  async send(text) {
    await this.#request()
    chunk(this.#response, { content: text })
  }

  async end() {
    await this.#request()
    finish(this.#response)
  }

  async refuse(status, message) {
    await this.#request()
    this.#response.writeHead(status, { 'Content-Type': 'application/json' })
    this.#response.end(JSON.stringify({ error: { message, type: 'server_error', code: null, param: null } }))
  }

  /** Closes the connection in the midst of the answer. */
  async break() {
    await this.#request()
    this.#response.destroy()
  }
}

function chunk(response, delta, more = {}) {
  if (!response.headersSent) response.writeHead(200, { 'Content-Type': 'text/event-stream' })
  const event = { id: 'c', object: 'chat.completion.chunk', created: 1, model: 'fake-1', choices: [{ index: 0, delta, finish_reason: null, ...more }] }
  response.write(`data: ${JSON.stringify(event)}\n\n`)
}

function finish(response) {
  chunk(response, {}, { finish_reason: 'stop' })
  const usage = { prompt_tokens: 1200, completion_tokens: 240, total_tokens: 1440 }
  response.write(`data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'fake-1', choices: [], usage })}\n\n`)
  response.end('data: [DONE]\n\n')
}

const whole = {
  chat: (text, model) => ({
    id: 'c', object: 'chat.completion', created: 1, model,
    choices: [{ index: 0, message: { role: 'assistant', content: text }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 1200, completion_tokens: 240, total_tokens: 1440 },
  }),
  messages: (text, model) => ({
    id: 'm', type: 'message', role: 'assistant', model, content: [{ type: 'text', text }], stop_reason: 'end_turn', stop_sequence: null,
    usage: { input_tokens: 320, output_tokens: 410, cache_read_input_tokens: 18200, cache_creation_input_tokens: 0 },
  }),
}

export class Model {
  /** Every turn's request: {question, body, headers}. */
  requests = []
  #held = []
  #said = new Map()
  #counts = new Map()
  #server

  static async start() {
    const model = new Model()
    model.#server = http.createServer((request, response) => void model.#serve(request, response))
    model.#server.listen(0, '127.0.0.1')
    await once(model.#server, 'listening')
    model.url = `http://127.0.0.1:${model.#server.address().port}`
    return model
  }

  async stop() {
    this.#server.closeAllConnections()
    this.#server.close()
    await once(this.#server, 'close')
  }

  /** Holds back the answer to the next request that asks this. */
  hold(question) {
    const held = new Held(question)
    this.#held.push({ question, held })
    return held
  }

  /** Answers the question with a text of the test's. */
  say(question, text) {
    this.#said.set(question, text)
  }

  asked(question) {
    return this.requests.filter((one) => one.question === question)
  }

  async #serve(request, response) {
    if (request.url.endsWith('/models')) {
      response.setHeader('Content-Type', 'application/json')
      response.end(JSON.stringify({ object: 'list', data: [{ id: 'fake-1', object: 'model' }] }))
      return
    }
    const pieces = []
    for await (const piece of request) pieces.push(piece)
    let body = {}
    try {
      body = JSON.parse(Buffer.concat(pieces).toString())
    } catch {
      // a request without a body
    }
    const question = questionOf(body)
    const seen = { question, body, headers: request.headers }
    this.requests.push(seen)
    const at = this.#held.findIndex((one) => one.question === question)
    if (at >= 0) {
      this.#held.splice(at, 1)[0].held.take(seen, response)
      return
    }
    this.#answer(request.url, body, question, response)
  }

  #answer(url, body, question, response) {
    const n = (this.#counts.get(question) ?? 0) + 1
    this.#counts.set(question, n)
    const text = this.#said.get(question) ?? `Answer ${n} to: ${question}`
    if (body.stream) {
      chunk(response, { role: 'assistant', content: '' })
      chunk(response, { content: text })
      finish(response)
      return
    }
    response.setHeader('Content-Type', 'application/json')
    response.end(JSON.stringify(whole[url.endsWith('/messages') ? 'messages' : 'chat'](text, body.model)))
  }
}
