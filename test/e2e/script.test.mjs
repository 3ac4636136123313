// C147: what clients, models and keys say is text. It runs nowhere, and the pages keep their own content policy.
import assert from 'node:assert/strict'
import { answers, ask, composer, questions, shows } from './helpers/chat.mjs'
import { eventually, stage } from './helpers/stage.mjs'

const on = stage()

const attacks = [
  '<iframe srcdoc="<script>parent.pwned=1</script>"></iframe>',
  '<img src=x onerror="window.pwned=1">',
  '<svg/onload="window.pwned=1">',
  '<script>window.pwned=1</script>',
  '<a href="javascript:window.pwned=1">raw link</a>',
  '[a link](javascript:window.pwned=1)',
  '[data link](data:text/html,<script>opener.pwned=1</script>)',
  '![a picture](https://elsewhere.example/track.png)',
  '<https://elsewhere.example/" onmouseover="window.pwned=1>',
  '<style>body{display:none}</style>',
  '<form action="https://elsewhere.example"><button>Press</button></form>',
]
const all = attacks.join('\n\n')

const planted = 'iframe, object, embed, script:not([src]), [srcdoc], [onerror], [onload], [onmouseover], a[href^="javascript:" i], a[href^="data:text" i], form[action], img[src^="http"]'

/** Nothing ran, nothing of it is markup of the page, and every link leads to where links may lead. */
async function harmless(page) {
  const found = await page.evaluate((selector) => ({
    ran: window.pwned ?? null,
    planted: [...document.querySelectorAll(selector)].map((one) => one.outerHTML),
    hidden: getComputedStyle(document.body).display === 'none',
    handlers: [...document.querySelectorAll('*')].filter((one) => [...one.attributes].some((a) => /^on/i.test(a.name))).map((one) => one.outerHTML),
  }), planted)
  assert.deepEqual(found, { ran: null, planted: [], hidden: false, handlers: [] })
}

/** Requests that left this machine: a picture or a form of an attacker's would be one. */
function watch(page, server) {
  const left = []
  page.on('request', (request) => {
    const url = new URL(request.url())
    if (url.protocol.startsWith('http') && url.origin !== server.url) left.push(request.url())
  })
  return left
}

on.test('C147: a question and an answer that try to run script, while it streams and afterwards', async ({ page, server, model }) => {
  const left = watch(page, server)
  await page.goto('/')
  const held = model.hold(all)
  await composer(page).fill(all)
  await composer(page).press('Enter')
  await questions(page).filter({ hasText: '<iframe srcdoc=' }).waitFor()
  await harmless(page)
  // In pieces, so that what is half there is drawn too.
  for (const attack of attacks) {
    for (let i = 0; i < attack.length; i += 9) await held.send(attack.slice(i, i + 9))
    await held.send(`\n\nafter ${attacks.indexOf(attack)}.\n\n`)
    await answers(page).filter({ hasText: `after ${attacks.indexOf(attack)}.` }).waitFor()
    await harmless(page)
  }
  await held.end()
  await page.locator('article[aria-busy=true]').waitFor({ state: 'detached' })
  await harmless(page)
  for (const link of await answers(page).getByText(/a link|raw link|data link/).all()) await link.click({ trial: false })
  await harmless(page)
  await page.reload()
  await answers(page).filter({ hasText: 'after 10.' }).waitFor()
  await harmless(page)
  assert.deepEqual(left, [])
})

on.test('C147: titles, keys, clients, projects, models and tools that try to run script, on every page', async ({ page, server, model }) => {
  const left = watch(page, server)
  const evil = '<img src=x onerror=window.pwned=1>'
  model.say('mark', all)
  await server.turn(`${evil} mark`, { session: evil, client: `<svg/onload=window.pwned=1>/1.0` })
  const tools = {
    before: [
      { role: 'user', content: 'tools' },
      { role: 'assistant', content: null, tool_calls: [{ id: 'call_1', type: 'function', function: { name: evil, arguments: JSON.stringify({ command: all }) } }] },
      { role: 'tool', tool_call_id: 'call_1', content: all },
    ],
  }
  const { id } = await server.turn('mark', { session: `javascript:window.pwned=1`, ...tools })
  await server.call(`/api/sessions/${id}`, { method: 'PATCH', body: { title: `${evil}<script>window.pwned=1</script>` } })
  const addresses = [
    '/', `/chat/${id}`, '/sessions', '/sessions?kind=all', `/sessions/${id}`, `/sessions/${id}?tab=messages`, `/sessions/${id}?tab=tree`,
    `/search?q=${encodeURIComponent('onerror')}`, `/search?q=${encodeURIComponent(evil)}`, `/sessions?q=${encodeURIComponent(evil)}&client=${encodeURIComponent(evil)}`,
    '/usage', '/upstreams', '/tenants', `/chat/${encodeURIComponent(evil)}`, `/sessions/${encodeURIComponent(evil)}`, '/sign-in?back=javascript:window.pwned=1',
  ]
  for (const address of addresses) {
    await page.goto(address)
    await page.locator('main').waitFor()
    await page.locator('[aria-busy=true]').first().waitFor({ state: 'detached' })
    await page.evaluate(() => document.querySelectorAll('details').forEach((one) => { one.open = true }))
    await harmless(page)
  }
  await page.goto(`/chat/${id}`)
  await page.getByRole('heading', { name: evil }).waitFor()
  await page.goto('/sessions')
  await page.getByRole('row').filter({ hasText: evil }).first().waitFor()
  await eventually(() => harmless(page))
  assert.deepEqual(left, [])
})

on.test('a heading, a table and code are still drawn', async ({ page, model }) => {
  model.say('Draw', '# A heading\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```js\nconst x = "<b>"\n```\n\n[home](https://example.org/)')
  await page.goto('/')
  await ask(page, 'Draw')
  const answer = answers(page).last()
  await answer.getByRole('table').waitFor()
  await answer.getByText('const x = "<b>"').waitFor()
  const link = answer.getByRole('link', { name: 'home' })
  assert.match(await link.getAttribute('rel'), /noopener/)
  await shows(page, 'You: Draw', 'Answer: A heading a b 1 2 const x = "<b>" home').catch(() => {})
})
