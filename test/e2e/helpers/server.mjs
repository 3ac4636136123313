// The built binary, in a folder of its own.
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import net from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { createInterface } from 'node:readline'

const binary = process.env.MOORING_BIN ?? path.resolve(import.meta.dirname, '../../../bin/mooring')

async function freePort() {
  const server = net.createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address()
  server.close()
  await once(server, 'close')
  return port
}

/** A client key as the configuration has it. */
export const keyed = (name, key, more = {}) => ({ name, hash: `sha256:${createHash('sha256').update(key).digest('hex')}`, ...more })

export class Mooring {
  log = ''
  #process

  /** Starts the server; it stays at one address for all its restarts, as the pages need it. JSON is YAML too. */
  static async start(config) {
    const server = new Mooring()
    server.dir = await mkdtemp(path.join(tmpdir(), 'mooring-e2e-'))
    server.listen = `127.0.0.1:${await freePort()}`
    server.url = `http://${server.listen}`
    await server.configure(config)
    await server.up()
    return server
  }

  configure(config) {
    return writeFile(path.join(this.dir, 'test.yaml'), JSON.stringify(config))
  }

  async up() {
    const env = { PATH: process.env.PATH, HOME: this.dir }
    this.#process = spawn(binary, ['serve', '--listen', this.listen, '--config', 'test.yaml'], { cwd: this.dir, env })
    this.#process.stderr.on('data', (piece) => { this.log += piece })
    const lines = createInterface({ input: this.#process.stdout })
    const said = await Promise.race([once(lines, 'line').then(([line]) => line), once(this.#process, 'exit').then(() => null)])
    if (!said?.startsWith('listening on ')) throw new Error(`mooring did not start: ${said ?? ''}\n${this.log}`)
  }

  /** Ends the process as a crash does. */
  async crash() {
    this.#process.kill('SIGKILL')
    await once(this.#process, 'exit')
  }

  /** Has it read another configuration. */
  async reload(config) {
    await this.configure(config)
    this.#process.kill('SIGHUP')
  }

  async stop() {
    if (this.#process.exitCode === null && this.#process.signalCode === null) {
      this.#process.kill('SIGTERM')
      const late = setTimeout(() => this.#process.kill('SIGKILL'), 20_000)
      await once(this.#process, 'exit')
      clearTimeout(late)
    }
    await rm(this.dir, { recursive: true, force: true })
  }

  /** Calls a route as a program does, and gives the JSON answer. */
  async call(route, { key, body, method = body === undefined ? 'GET' : 'POST', headers = {} } = {}) {
    const response = await fetch(this.url + route, {
      method,
      headers: { ...(key && { Authorization: `Bearer ${key}` }), ...(body !== undefined && { 'Content-Type': 'application/json' }), ...headers },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    if (!response.ok) throw new Error(`${method} ${route} = ${response.status} ${text}`)
    return text === '' ? null : JSON.parse(text)
  }

  /** One turn of a client program: gives the answer's headers. */
  async turn(question, { session, key, client = 'curl/8.5.0', route = '/v1/chat/completions', before = [], more = {}, headers = {} } = {}) {
    const response = await fetch(this.url + route, {
      method: 'POST',
      headers: {
        'Content-Type': 'application/json', 'User-Agent': client,
        ...(session && { 'X-Session-Id': session }), ...(key && { Authorization: `Bearer ${key}` }), ...headers,
      },
      body: JSON.stringify({ model: 'fake-1', max_tokens: 1000, messages: [...before, { role: 'user', content: question }], ...more }),
    })
    const text = await response.text()
    if (!response.ok) throw new Error(`a turn = ${response.status} ${text}`)
    return { id: response.headers.get('x-mooring-session'), turn: response.headers.get('x-mooring-turn'), text }
  }

  async messages(session, options) {
    return (await this.call(`/api/sessions/${session}/messages?limit=200`, options)).messages
  }

  /** What was said on the current branch, as "role: text". */
  async texts(session, options) {
    return (await this.messages(session, options)).map((m) => `${m.role}: ${m.text}`)
  }

  async sessions(options) {
    return (await this.call('/api/sessions?limit=200', options)).sessions
  }
}
