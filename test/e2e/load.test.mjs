// What the first visit costs, and that nothing on the page jumps while an answer comes.
import assert from 'node:assert/strict'
import { answers, ask, chat, composer, questions } from './helpers/chat.mjs'
import { eventually, patience, stage } from './helpers/stage.mjs'

let session
const on = stage({
  prepare: async ({ server }) => {
    session = (await server.turn('Here already', { session: 'load-1' })).id
  },
})

const lists = ['/api/sessions?limit=60&archived=false', '/api/sessions?limit=100&pinned=true&archived=false']
const below = (...what) => what.map((one) => `/api/sessions/{id}${one}`)

/**
 * What each page may cost, with all that it fetches by itself: bytes as they are sent, and requests; what it asks the API before
 * anything was answered, and what it asks then.
 */
const pages = [
  { address: '/', bytes: 200_000, requests: 17, asks: ['/api/me', '/api/upstreams', '/api/models', ...lists], then: [] },
  { address: '/chat/{id}', bytes: 200_000, requests: 19, asks: ['/api/me', '/api/upstreams', '/api/models', ...lists, ...below('')], then: below('/turns?limit=100', '/messages?limit=100') },
  { address: '/sessions', bytes: 140_000, requests: 15, asks: ['/api/me', '/api/upstreams', '/api/sessions?kind=main&archived=false&limit=100'], then: ['/api/sessions?kind=subagent&limit=200'] },
  { address: '/sessions/{id}', bytes: 160_000, requests: 17, asks: ['/api/me', ...below('')], then: below('/turns?limit=100', '/tree') },
  { address: '/search', bytes: 130_000, requests: 12, asks: ['/api/me'], then: [] },
  { address: '/usage', bytes: 130_000, requests: 14, asks: ['/api/me', '/api/stats', '/api/usage?from={day}&to={day}&by=model'], then: [] },
  { address: '/upstreams', bytes: 190_000, requests: 15, asks: ['/api/me', '/api/upstreams', '/api/series?span=24h'], then: [] },
  { address: '/sign-in', bytes: 130_000, requests: 12, asks: ['/api/me'], then: [] },
]
const at = (address) => address.replace('{id}', session)
const plain = (url) => url.replace(on.server.url, '').replace(session, '{id}').replace(/\d{4}-\d\d-\d\dT[^&]*/g, '{day}')
const usable = (page) => page.getByRole('main').locator('textarea, h1').first().waitFor()

/** A page in a browser profile that has seen nothing of these pages. */
async function fresh(address) {
  const context = await on.browser.newContext({ baseURL: on.server.url })
  context.setDefaultTimeout(patience)
  // Where no key is needed the sign-in leads on after two seconds: what it fetches is its own only until then.
  if (address === '/sign-in') {
    await context.addInitScript(() => {
      const soon = window.setTimeout
      window.setTimeout = (act, ms, ...rest) => (ms < 2000 ? soon(act, ms, ...rest) : 0)
    })
  }
  return context.newPage()
}

on.test('first load: what a page fetches is little, nothing of it twice, and it is soon usable', async () => {
  const later = []
  for (const { address, bytes, requests } of pages) {
    const page = await fresh(address)
    const begun = performance.now()
    await page.goto(at(address), { waitUntil: 'commit' })
    await usable(page)
    const ready = Math.round(performance.now() - begun)
    // What else it fetches comes while the next one is loaded.
    const measured = settled(page).then(async (all) => {
      const total = all.reduce((sum, one) => sum + one.size, 0)
      console.log(`${address}: ${(total / 1000).toFixed(1)} KB in ${all.length} requests, usable after ${ready} ms`)
      const list = all.map((one) => `${one.size} ${one.name}`).join('\n')
      assert.ok(total > 50_000 && total <= bytes, `${address} takes ${total} bytes, more than ${bytes}:\n${list}`)
      assert.ok(all.length <= requests, `${address} takes ${all.length} requests, more than ${requests}:\n${list}`)
      const names = all.map((one) => one.name)
      assert.deepEqual(names.filter((name, i) => names.indexOf(name) < i), [], `${address} asks for these more than once`)
      await page.context().close()
    })
    measured.catch(() => {}) // until it is waited for
    later.push(measured)
  }
  await every(later)
})

/** Waits for all of them, and fails with the first that failed: none may go on into the next test. */
async function every(all) {
  for (const one of await Promise.allSettled(all)) if (one.status === 'rejected') throw one.reason
}

/** All that a page has fetched, once nothing more has come for half a second: nothing tells that nothing will. */
async function settled(page) {
  for (let before = -1; ;) {
    const all = await page.evaluate(() =>
      [...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')]
        .filter((one) => one.responseEnd > 0)
        .map((one) => ({ name: one.name.replace(location.origin, ''), size: one.encodedBodySize })))
    if (all.length === before) return all
    before = all.length
    await page.waitForTimeout(500)
  }
}

// How deep the waterfall is, without a clock: the shell names every script and style sheet that the page is drawn with, and nothing
// that is asked of the API waits for the answer to something else, but for what is listed.
on.test('first load: what a page needs is asked for at once, not one behind the other', async () => {
  await every(pages.map(async ({ address, asks, then }) => {
    const page = await fresh(address)
    const code = []
    const asked = []
    const held = []
    let open = false
    page.on('request', (request) => {
      if (['script', 'stylesheet'].includes(request.resourceType())) code.push(plain(request.url()))
    })
    await page.route(/\/api\/(?!events)/, (route) => {
      asked.push(plain(route.request().url()))
      return open ? route.continue() : held.push(route)
    })
    await page.goto(at(address), { waitUntil: 'commit' })
    await eventually(() => assert.deepEqual(asked.toSorted(), asks.toSorted(), `${address}: asked while nothing is answered`))
    const shell = await (await fetch(on.server.url + at(address))).text()
    const unnamed = code.filter((file) => !shell.includes(file))
    open = true
    await Promise.all(held.map((route) => route.continue()))
    await usable(page)
    await settled(page)
    assert.deepEqual(asked.slice(asks.length).toSorted(), then.toSorted(), `${address}: asked behind an answer`)
    // The first question's code comes while nothing else is to be done.
    assert.deepEqual(unnamed.filter((file) => address !== '/' || !file.includes('/messages-')), [], `${address}: files that its shell does not name`)
    await page.context().close()
  }))
})

on.test('assets come packed, are kept by the browser, and are not asked for again', async ({ page }) => {
  const last = page.waitForResponse((one) => one.url().includes('/assets/messages-')) // comes once the page is there
  await page.goto('/')
  await composer(page).waitFor()
  await (await last).finished()
  const seen = []
  page.on('response', (response) => seen.push(response))
  await page.reload()
  await composer(page).waitFor()
  const again = seen.filter((one) => /\/assets\//.test(one.url()))
  const fromWire = []
  for (const one of again) if ((await one.request().sizes()).responseBodySize > 0) fromWire.push(one.url())
  assert.deepEqual(fromWire, [])
})

on.test('nothing jumps while an answer streams: the reader who scrolled up stays where they are', async ({ page, model }) => {
  await page.goto('/')
  model.say('Fill the page', Array.from({ length: 60 }, (_, i) => `Line ${i} of a long answer.`).join('\n\n'))
  await ask(page, 'Fill the page')
  await answers(page).filter({ hasText: 'Line 59' }).waitFor()
  await page.locator('article[aria-busy=true]').waitFor({ state: 'detached' })
  await page.evaluate(() => {
    window.shifted = 0
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) if (!entry.hadRecentInput) window.shifted += entry.value
    }).observe({ type: 'layout-shift', buffered: false })
  })
  const held = model.hold('Go on')
  await ask(page, 'Go on')
  for (const piece of ['# A heading\n\nSome', ' words\n\n', '```js\nconst', ' a = 1\n```\n\n', '| a | b |\n|---|', '---|\n| 1 | 2 |\n\n', '- one\n', '- two\n\n']) await held.send(piece)
  await answers(page).last().getByRole('table').waitFor()
  // At the end the newest words stay in sight.
  const bottom = () => answers(page).first().evaluate((box) => {
    while (!/auto|scroll/.test(getComputedStyle(box).overflowY)) box = box.parentElement
    return box.scrollHeight - box.scrollTop - box.clientHeight
  })
  await eventually(async () => assert.ok((await bottom()) < 4, 'the end is not in sight'))
  // Scrolled up, what is read stays.
  const line = answers(page).first().getByText('Line 30 of')
  await line.scrollIntoViewIfNeeded()
  await page.getByRole('button', { name: 'Jump to the latest' }).waitFor()
  const at = (await line.boundingBox()).y
  for (let i = 0; i < 30; i++) await held.send(`more words ${i}\n\n`)
  await answers(page).last().getByText('more words 29').waitFor({ state: 'attached' })
  assert.ok(Math.abs((await line.boundingBox()).y - at) < 2, 'the line moved while text came')
  await held.end()
  await page.locator('article[aria-busy=true]').waitFor({ state: 'detached' })
  assert.ok(Math.abs((await line.boundingBox()).y - at) < 2, 'the line moved at the end')
  await page.getByRole('button', { name: 'Jump to the latest' }).click()
  await eventually(async () => assert.ok((await bottom()) < 4))
  const shifted = await page.evaluate(() => window.shifted)
  console.log(`layout shift: ${shifted.toFixed(4)}`)
  assert.ok(shifted < 0.1, `a layout shift of ${shifted}`)
})

on.test('nothing jumps when a stored answer takes the place of the one that came', async ({ page, model }) => {
  await page.goto('/')
  await chat(page, 'Before')
  const held = model.hold('Settle')
  await ask(page, 'Settle')
  await held.send('First words.\n\n- one\n- two\n\n```js\nlet x\n```\n')
  await answers(page).last().getByText('let x').waitFor()
  const question = questions(page).last()
  const code = answers(page).last().locator('pre')
  const where = async () => [await question.boundingBox(), await code.boundingBox()].map((box) => Math.round(box.y))
  const before = await where()
  await held.end()
  await page.locator('article[aria-busy=true]').waitFor({ state: 'detached' })
  await answers(page).last().hover()
  await answers(page).last().getByRole('button', { name: 'Another answer' }).waitFor()
  const after = await where()
  assert.ok(before.every((y, i) => Math.abs(y - after[i]) <= 1), `${before} became ${after}`)
})
