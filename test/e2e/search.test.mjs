// Search, in the words and scripts that people use.
import assert from 'node:assert/strict'
import { answers, chats } from './helpers/chat.mjs'
import { eventually, stage } from './helpers/stage.mjs'

const said = [
  'Please look at src/main.py before lunch',
  "They don't agree on the harbour",
  '请把船开到港口去',
  'Ask Bo about the qz valve',
  'Ship it 🚢 today',
]

const on = stage({
  prepare: async ({ server }) => {
    for (const [i, text] of said.entries()) await server.turn(text, { session: `search-${i}`, client: 'claude-cli/2.1.0 (external, cli)' })
  },
})

const field = (page) => page.getByRole('searchbox', { name: 'Search everything that was said' })
const results = (page) => page.getByRole('list', { name: 'Results' })

async function wantFound(page, query, text, hit = query) {
  await field(page).fill(query)
  const result = results(page).getByRole('listitem').filter({ has: page.locator('mark') }).filter({ hasText: text })
  await result.first().waitFor()
  const marks = await result.first().locator('mark').allInnerTexts()
  assert.ok(marks.join('|').toLowerCase().includes(hit.toLowerCase()), `${marks} marks ${hit}`)
  assert.equal(new URL(page.url()).searchParams.get('q'), query)
}

on.test('search: a path, an apostrophe, Chinese, two characters, an emoji', async ({ page }) => {
  await page.goto('/search')
  await wantFound(page, 'src/main.py', said[0], 'main.py')
  await wantFound(page, "don't", said[1])
  await wantFound(page, '港口', said[2])
  await wantFound(page, 'qz', said[3])
  await wantFound(page, '🚢', said[4])
  await field(page).fill('"; DROP TABLE session; --')
  await page.getByText('Nothing was found').waitFor()
  await wantFound(page, 'harbour', said[1])
})

on.test('search: a hit is opened in its session, on its message, and in the chat', async ({ page }) => {
  await page.goto(`/search?q=${encodeURIComponent('港口')}`)
  const link = results(page).locator('[data-result]').filter({ hasText: said[2] }).first()
  await link.click()
  await page.waitForURL(/\/sessions\/ses_/)
  await page.getByRole('region', { name: 'Messages' }).getByText(said[2]).first().waitFor()
  await page.goBack()
  assert.equal(await field(page).inputValue(), '港口')
  const result = results(page).getByRole('listitem').filter({ hasText: said[2] }).first()
  await result.hover()
  await result.getByRole('button', { name: 'Open the chat' }).click()
  await page.waitForURL(/\/chat\//)
  await answers(page).filter({ hasText: said[2] }).waitFor()
})

on.test('search of the side list finds titles and words, and opens the chat on the message', async ({ page }) => {
  await page.goto('/')
  await chats(page).getByRole('searchbox', { name: 'Search chats' }).fill('qz valve')
  await chats(page).getByRole('heading', { name: 'Messages' }).waitFor()
  await chats(page).getByRole('link').filter({ hasText: 'Answer 1 to: Ask Bo' }).first().click()
  await page.waitForURL(/message=msg_/)
  const target = new URL(page.url()).searchParams.get('message')
  await page.locator(`#${target}`).waitFor()
  await eventually(async () => assert.ok(await page.locator(`#${target}`).isVisible()))
})
