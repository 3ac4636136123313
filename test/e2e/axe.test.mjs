// WCAG 2.1 A and AA, as far as axe can tell, on each page, light and dark, wide and narrow.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { answers, ask, composer } from './helpers/chat.mjs'
import { stage } from './helpers/stage.mjs'

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
let session
const written = '# Title\n\nText with `code`, **strong** and [a link](https://example.org/).\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```js\n// a comment\nconst x = "text" + 12\n```\n\n> quoted\n\n- one\n- two'

const on = stage({
  prepare: async ({ server, model }) => {
    const client = 'claude-cli/2.1.0 (external, cli)'
    model.say('Write', written)
    const made = await server.turn('Write', { session: 'axe-1', client })
    session = made.id
    const before = [{ role: 'user', content: 'Write' }, { role: 'assistant', content: written }]
    await server.turn('And more', { session: 'axe-1', client, before })
    const { id } = await server.turn('Pin me', { session: 'axe-2' })
    await server.call(`/api/sessions/${id}`, { method: 'PATCH', body: { pinned: true } })
  },
})

const tags = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa']
const themes = {
  light: tags,
  // The theme changes colours and nothing else, so these are the rules that it can break.
  dark: { type: 'rule', values: ['color-contrast', 'link-in-text-block'] },
}

/** As it stands, in both themes. */
async function wantAccessible(page, what) {
  await page.evaluate(`window.axe || (() => { ${axe} })()`)
  const said = []
  for (const [colorScheme, runOnly] of Object.entries(themes)) {
    await page.emulateMedia({ colorScheme })
    const found = await page.evaluate((runOnly) => window.axe.run(document, { runOnly, resultTypes: ['violations'] }), runOnly)
    said.push(...found.violations.map((one) => `${colorScheme}, ${one.id}: ${one.help}\n${one.nodes.map((node) => `  ${node.target} ${node.failureSummary.split('\n').slice(1).join(' ')}`).join('\n')}`))
  }
  assert.deepEqual(said, [], what)
}

const pages = [
  ['a new chat', () => '/', (page) => composer(page).waitFor()],
  ['a chat', () => `/chat/${session}`, (page) => answers(page).first().waitFor()],
  ['no such chat', () => '/chat/none-such', (page) => page.getByText('There is no such chat').waitFor()],
  ['sessions', () => '/sessions', (page) => page.getByRole('row').nth(1).waitFor()],
  ['no sessions', () => '/sessions?q=none-such', (page) => page.getByText('No session matches').waitFor()],
  ['turns', () => `/sessions/${session}`, (page) => page.getByRole('tabpanel').waitFor()],
  ['messages', () => `/sessions/${session}?tab=messages`, (page) => page.getByRole('region', { name: 'Messages' }).waitFor()],
  ['tree', () => `/sessions/${session}?tab=tree`, (page) => page.getByRole('tabpanel').waitFor()],
  ['search', () => '/search?q=write', (page) => page.getByRole('list', { name: 'Results' }).waitFor()],
  ['an empty search', () => '/search', (page) => page.getByText('Find anything that was said').waitFor()],
  ['usage', () => '/usage', (page) => page.getByRole('table').first().waitFor()],
  ['upstreams', () => '/upstreams', (page) => page.getByText('fake').first().waitFor()],
  ['no such page', () => '/nowhere', (page) => page.getByText('There is no page at this address').waitFor()],
  ['tenants', () => '/tenants', (page) => page.getByText('There is no tenant edge here').waitFor()],
]

for (const [width, viewport] of [['wide', { width: 1280, height: 800 }], ['narrow', { width: 360, height: 740 }]]) {
  on.test(`axe: every page, ${width}`, async ({ page }) => {
    const wrong = []
    for (const [name, address, there] of pages) {
      await page.goto(address())
      await there(page)
      await wantAccessible(page, name).catch((error) => wrong.push(`${name}: ${error.actual?.join('\n') ?? error.message}`))
      const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)
      if (overflow > 0) wrong.push(`${name}: scrolls sideways by ${overflow} px`)
    }
    assert.equal(wrong.join('\n\n'), '')
  }, { viewport })
}

on.test('axe: what opens, and an answer that comes', async ({ page, model }) => {
  await page.goto(`/chat/${session}`)
  await answers(page).first().waitFor()
  await page.getByRole('button', { name: 'You and settings' }).click()
  await page.getByRole('menu').waitFor()
  await wantAccessible(page, 'the settings')
  await page.keyboard.press('Escape')
  await page.getByRole('menu').waitFor({ state: 'detached' })
  await answers(page).first().hover()
  await page.keyboard.press('?')
  await page.evaluate(() => document.activeElement.blur())
  await page.keyboard.press('?')
  await page.getByRole('dialog', { name: 'Keyboard' }).waitFor()
  await wantAccessible(page, 'the list of keys')
  await page.keyboard.press('Escape')
  await composer(page).fill('/new')
  await page.getByText('begins this chat afresh').waitFor()
  await wantAccessible(page, 'the hint')
  const held = model.hold('Come')
  await ask(page, 'Come')
  await held.send('On its way')
  await answers(page).filter({ hasText: 'On its way' }).waitFor()
  await wantAccessible(page, 'an answer that comes')
  await held.break()
  await page.getByRole('alert').last().waitFor()
  await wantAccessible(page, 'an answer that broke off')
  await page.goto('/upstreams')
  await page.getByRole('button', { name: 'Drain fake' }).click()
  await page.getByRole('dialog', { name: 'Drain fake?' }).waitFor()
  await wantAccessible(page, 'the question before draining')
})
