// The web UI's page: a list of sessions, the open one, and a stream that says when something has changed.
'use strict'
const at = (id) => document.getElementById(id)
const kept = 'hermes-webui-session'
let open = null

/** Gives the answer, null where there is none: a login proxy leads those without a login elsewhere, where no page may look. */
async function call(path, body) {
  const response = await fetch(path, body === undefined ? {} : {
    method: 'POST', body: JSON.stringify(body), headers: { 'Content-Type': 'application/json', 'X-Hermes-CSRF-Token': document.body.dataset.csrf },
  }).catch(() => null)
  return response?.ok ? response.json().catch(() => null) : null
}

function item(text) {
  const li = document.createElement('li')
  li.textContent = text
  return li
}

async function list() {
  const answer = await call('/api/sessions')
  if (!answer) return
  at('sessions').replaceChildren(...answer.sessions.map((session) => {
    const li = item('')
    const link = document.createElement('a')
    link.href = `/session/${session.session_id}`
    link.textContent = session.title
    li.append(link)
    return li
  }))
}

async function load() {
  open = location.pathname.startsWith('/session/') ? location.pathname.split('/')[2] : null
  if (!open) return
  const answer = await call(`/api/session?session_id=${open}&messages=1&msg_limit=50`)
  if (!answer) {
    at('title').textContent = 'There is no such session'
    return
  }
  localStorage.setItem(kept, open)
  at('title').textContent = answer.session.title
  at('messages').replaceChildren(...answer.session.messages.map((m) => item(`${m.role}: ${m.content}`)))
}

// As hermes-webui does, it comes back by itself whenever the stream has ended.
function listen() {
  const events = new EventSource('/api/sessions/events')
  events.onmessage = () => {
    at('live').textContent = 'live'
    void list()
  }
  events.onerror = () => {
    at('live').textContent = 'not live'
    events.close()
    setTimeout(listen, 1000)
  }
}

at('new').onclick = async () => {
  const answer = await call('/api/session/new', {})
  if (!answer) return
  const { session } = answer
  history.pushState(null, '', `/session/${session.session_id}`)
  await load()
}

at('composer').onsubmit = async (event) => {
  event.preventDefault()
  const message = at('message').value
  const answer = await call('/api/chat/start', { session_id: open, message })
  if (!answer) return
  at('message').value = ''
  await load()
  const line = item('assistant: ')
  at('messages').append(line)
  const stream = new EventSource(`/api/chat/stream?stream_id=${answer.stream_id}`)
  stream.onmessage = (event) => { line.textContent += JSON.parse(event.data).text }
  stream.addEventListener('done', () => {
    stream.close()
    void load()
  })
  stream.onerror = () => {
    stream.close()
    line.textContent += '[broken off]'
  }
}

at('out').onclick = async () => {
  const answer = await call('/api/auth/logout', {})
  if (answer) location.href = answer.trusted_logout_url
}

void list()
void load()
listen()
