// The pictures in docs/images: the main pages, light and dark, on a wide screen and on a phone, with conversations as they are.
import { mkdirSync } from 'node:fs'
import path from 'node:path'
import { launch } from './helpers/browser.mjs'
import { answers, composer } from './helpers/chat.mjs'
import { Model } from './helpers/model.mjs'
import { Mooring } from './helpers/server.mjs'
import { patience } from './helpers/stage.mjs'

const out = path.resolve(import.meta.dirname, '../../docs/images')
mkdirSync(out, { recursive: true })

const question = 'Which tide table should the planner use, and how do I interpolate between two readings?'
const answer = `Use the harmonic predictions of the **reference station**; the secondary ports are offsets from it.

Between two readings the *rule of twelfths* is close enough for planning:

| hour | rise of the range | at a 4.8 m range |
| ---: | :---: | ---: |
| 1 | 1/12 | 0.4 m |
| 2 | 2/12 | 0.8 m |
| 3 | 3/12 | 1.2 m |
| 4 | 3/12 | 1.2 m |

For the planner itself a cosine is as short and has no steps:

\`\`\`python
from math import cos, pi

def height(low, high, hours, duration=6.2):
    """Height of the tide, \`hours\` after low water."""
    phase = pi * min(max(hours / duration, 0), 1)
    return low + (high - low) * (1 - cos(phase)) / 2
\`\`\`

\`height(0.6, 5.4, 3.1)\` gives **3.0 m**, halfway up at half time.`

const claude = { client: 'claude-cli/2.1.332 (external, cli)', route: '/v1/messages', model: 'claude-sonnet-4-6' }
const codex = { client: 'codex_cli_rs/0.171.0 (Linux; x86_64)', model: 'gpt-5.2' }
const opencode = { client: 'opencode/1.18.34', model: 'claude-sonnet-4-6' }
const project = (name) => ({ role: 'system', content: `<env>\nWorking directory: /home/sam/${name}\nIs directory a git repo: yes\n</env>` })

/** What people and programs ask, and what they are told. */
const talks = [
  {
    session: 'timetable-17', ...claude, in: 'timetable',
    said: [
      ['Why does the ferry timetable drop the last sailing on Sundays?', 'The loop compares the day with `< 6`; Sunday is 6, so its evening block is never read. It is in `schedule/week.py`, line 41.'],
      ['Fix it and add a test', 'Done: the comparison is `<= 6` now, and `test_last_sailing_on_sunday` fails without it.'],
    ],
  },
  { session: 'berths-3', ...codex, in: 'berths', said: [['Port the berth allocator to the new scheduler', 'The allocator takes its slots from `Scheduler.reserve` now. Two call sites are left; agents look at them.']] },
  { session: 'planner-9', ...opencode, in: 'planner', said: [
    ['Review the diff of the tide planner', 'Two findings: the cache key leaves out the port, and `height()` rounds before it compares.'],
    ['And the migration?', 'It is safe to run twice. The index could be made before the column is filled.'],
  ] },
  { session: 'berths-3-a', parent: 'berths-3', ...codex, in: 'berths', said: [['Find all call sites of allocate()', 'Nine, of which two pass a berth by name.']] },
  { session: 'berths-3-b', parent: 'berths-3', ...codex, in: 'berths', said: [['Read the scheduler’s tests', 'They cover overlaps and cancellations, but no tide windows.']] },
  { session: 'nightly-41', client: 'python-requests/2.32', model: 'llama-4-local', said: [['Summarise last night’s incident reports', 'Three reports: a jammed ramp, a late pilot, a lost fender.']] },
  { session: 'webui-8', client: 'OpenAI/Python 2.9.0', model: 'gpt-5.2', said: [['Traduza o diário do porto para inglês', 'At high water two coasters left the outer basin; the wind had gone round to the north-west.']] },
  { session: 'notes-2', ...opencode, in: 'timetable', said: [['Write release notes for 0.9', 'Sunday evenings are back; tide tables load in half the time.']] },
]

async function fill(server, model) {
  for (const { said, parent, in: folder, model: name, ...talk } of talks) {
    const anthropic = talk.route === '/v1/messages'
    const system = folder ? [project(folder)] : []
    const messages = []
    for (const [question, answer] of said) {
      model.say(question, answer)
      await server.turn(question, {
        ...talk,
        before: anthropic ? messages : [...system, ...messages],
        headers: parent && { 'X-Parent-Session-Id': parent },
        more: { model: name, ...(anthropic && { system: system[0].content }) },
      })
      messages.push({ role: 'user', content: question }, { role: 'assistant', content: answer })
    }
  }
  const lost = model.hold('Draft the mail to the pilots')
  const failed = server.turn('Draft the mail to the pilots', { session: 'mail-5', client: 'python-requests/2.32', more: { model: 'llama-4-local' } }).catch(() => {})
  await lost.refuse(400, 'The prompt is longer than the context window.')
  await failed
}

/** The first turn's details: why this session, why this upstream. */
async function opened(page) {
  await page.getByRole('tabpanel').getByRole('button', { expanded: false }).first().click()
  await page.getByRole('tabpanel').getByRole('button', { expanded: true }).waitFor()
}

/** What is in each picture. */
const shots = {
  chat: { address: (at) => `/chat/${at.chat}`, there: (page) => answers(page).first().getByRole('table').waitFor() },
  welcome: { address: () => '/', there: (page) => composer(page).waitFor() },
  sessions: { address: () => '/sessions', there: (page) => page.getByRole('row').nth(5).waitFor() },
  session: { address: (at) => `/sessions/${at.session}`, there: (page) => opened(page) },
  search: { address: () => '/search?q=tide', there: (page) => page.getByRole('list', { name: 'Results' }).waitFor() },
  usage: { address: () => '/usage', there: (page) => page.getByRole('table').first().waitFor() },
  upstreams: { address: () => '/upstreams', there: (page) => page.locator('canvas').first().waitFor() },
}

const model = await Model.start()
const upstreams = [
  { name: 'anthropic', url: model.url, protocol: 'both', key: 'none', models: ['claude-*'] },
  { name: 'openai', url: `http://localhost:${new URL(model.url).port}`, protocol: 'openai', key: 'none', models: ['gpt-*', 'llama-*'] },
]
const server = await Mooring.start({ upstreams, prices: { 'llama-*': { input: 0.1, output: 0.4 } } })
const browser = await launch()
try {
  await fill(server, model)
  model.say(question, answer)
  await server.call('/api/session-send', { body: { sessionKey: 'tides', message: question, model: 'claude-sonnet-4-6' } })
  const at = { chat: 'tides', session: (await server.call('/api/sessions/timetable-17')).id }
  const { id } = await server.call('/api/sessions/tides')
  await server.call(`/api/sessions/${id}`, { method: 'PATCH', body: { title: 'Tide tables and interpolation', pinned: true } })
  for (const colorScheme of ['light', 'dark']) {
    for (const [width, height] of [[1280, 800], [360, 740]]) {
      const context = await browser.newContext({
        baseURL: server.url, colorScheme, viewport: { width, height }, reducedMotion: 'reduce', deviceScaleFactor: 1, isMobile: width < 500, hasTouch: width < 500, locale: 'en-GB',
      })
      context.setDefaultTimeout(patience)
      for (const [name, { address, there }] of Object.entries(shots)) {
        const page = await context.newPage()
        await page.goto(address(at))
        await there(page)
        await page.locator('[aria-busy=true]').first().waitFor({ state: 'detached' })
        await page.evaluate(() => document.fonts.ready)
        await page.screenshot({ path: path.join(out, `${name}-${colorScheme}-${width}.png`) })
        await page.close()
      }
      await context.close()
    }
  }
} finally {
  await browser.close()
  await server.stop()
  await model.stop()
}
