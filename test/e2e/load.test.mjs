// What the first visit costs, and that nothing on the page jumps while an answer comes.
import assert from 'node:assert/strict'
import { answers, ask, chat, composer, questions } from './helpers/chat.mjs'
import { eventually, stage } from './helpers/stage.mjs'

const on = stage()

on.test('first load: at most 300 KB over the wire, and soon usable', async ({ page, context }) => {
  for (const address of ['/', '/sessions', '/search', '/usage', '/upstreams']) {
    const fresh = await context.browser().newContext({ baseURL: on.server.url })
    const visit = await fresh.newPage()
    const begun = performance.now()
    await visit.goto(address)
    await visit.getByRole('main').locator('textarea, h1').first().waitFor()
    const usable = Math.round(performance.now() - begun)
    const bytes = await visit.evaluate(() =>
      [...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')].map((one) => [one.name, one.encodedBodySize]))
    const total = bytes.reduce((sum, [, size]) => sum + size, 0)
    console.log(`${address}: ${(total / 1000).toFixed(1)} KB in ${bytes.length} requests, usable after ${usable} ms`)
    assert.ok(total > 50_000 && total <= 300_000, `${address} takes ${total} bytes:\n${bytes.map(([name, size]) => `${size} ${name}`).join('\n')}`)
    await fresh.close()
  }
  await page.goto('/')
  await composer(page).waitFor()
})

on.test('assets come packed, are kept by the browser, and are not asked for again', async ({ page }) => {
  await page.goto('/')
  await composer(page).waitFor()
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
