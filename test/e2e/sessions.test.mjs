// The table and the lists: live, filtered by the address, and what can be done with a session, undone too.
import assert from 'node:assert/strict'
import { chat, chats, sessionOf } from './helpers/chat.mjs'
import { eventually, stage } from './helpers/stage.mjs'

const on = stage({
  prepare: async ({ server }) => {
    await server.turn('From a coding agent', { session: 'agent-1', client: 'claude-cli/2.1.0 (external, cli)' })
    await server.turn('From a script', { session: 'script-1', client: 'python-requests/2.32' })
  },
})
const row = (page, title) => page.getByRole('row').filter({ hasText: title })

on.test('the table and the lists follow what happens, without a reload', async ({ page, profile, server, model }) => {
  await page.goto('/sessions')
  await row(page, 'From a script').first().waitFor()
  const list = await profile.page()
  await list.goto('/')
  await chats(list).getByRole('link', { name: 'From a script' }).waitFor()
  // Nobody points at the table: rows may move.
  await page.mouse.move(2, 2)

  const held = model.hold('It happens now')
  const turn = server.turn('It happens now', { session: 'live-1', more: { stream: true } })
  await held.send('a word')
  const now = row(page, 'It happens now')
  await now.getByText('Running').waitFor()
  await chats(list).getByRole('link', { name: 'It happens now' }).getByRole('img', { name: 'An answer is being written' }).waitFor()
  await held.end()
  const { id } = await turn
  await now.getByText('Completed').waitFor()
  await chats(list).getByRole('img', { name: 'An answer is being written' }).waitFor({ state: 'detached' })

  await server.call(`/api/sessions/${id}`, { method: 'PATCH', body: { title: 'Named by hand' } })
  await row(page, 'Named by hand').waitFor()
  await chats(list).getByRole('link', { name: 'Named by hand' }).waitFor()
  await server.call(`/api/sessions/${id}`, { method: 'DELETE' })
  await row(page, 'Named by hand').waitFor({ state: 'detached' })
  await chats(list).getByRole('link', { name: 'Named by hand' }).waitFor({ state: 'detached' })
})

on.test('filters stand in the address, survive a reload and can be cleared', async ({ page }) => {
  await page.goto('/sessions')
  await row(page, 'From a script').first().waitFor()
  const client = page.getByRole('combobox', { name: 'Of the client' })
  const agent = (await client.locator('option').allInnerTexts()).find((name) => /claude/i.test(name))
  await client.selectOption({ label: agent })
  await row(page, 'From a script').waitFor({ state: 'detached' })
  await row(page, 'From a coding agent').waitFor()
  assert.equal(new URL(page.url()).searchParams.get('client')?.length > 0, true)
  await page.reload()
  await row(page, 'From a coding agent').waitFor()
  assert.equal(await row(page, 'From a script').count(), 0)
  await page.getByRole('searchbox', { name: 'Filter by title or key' }).fill('nothing like it')
  await page.getByText('No session matches').waitFor()
  assert.equal(new URL(page.url()).searchParams.get('q'), 'nothing like it')
  await page.getByRole('button', { name: 'Clear' }).click()
  await row(page, 'From a script').waitFor()
  assert.equal(new URL(page.url()).search, '')
  await page.getByRole('combobox', { name: 'State' }).selectOption('failed')
  await page.getByText('No session matches').waitFor()
  assert.equal(new URL(page.url()).search, '?state=failed')
})

on.test('rename, pin, archive and delete, each seen elsewhere and undone', async ({ page, profile, server }) => {
  await page.goto('/')
  await chat(page, 'Handle me')
  const { id } = await sessionOf(page, server)
  const other = await profile.page()
  await other.goto('/')
  const here = (title) => chats(page).getByRole('link', { name: title })
  const there = (title) => chats(other).getByRole('link', { name: title })
  await there('Handle me').waitFor()
  const menu = async (item) => {
    await page.getByRole('region').getByRole('button', { name: 'More' }).first().click()
    await page.getByRole('menuitem', { name: item, exact: true }).click()
  }

  await menu('Rename')
  await page.getByRole('textbox', { name: 'Title' }).fill('Handled')
  await page.getByRole('textbox', { name: 'Title' }).press('Enter')
  await here('Handled').waitFor()
  await there('Handled').waitFor()
  await page.getByRole('heading', { name: 'Handled' }).waitFor()

  await menu('Pin')
  await chats(page).getByRole('heading', { name: 'Pinned' }).waitFor()
  await chats(other).getByRole('heading', { name: 'Pinned' }).waitFor()
  await menu('Unpin')
  await chats(other).getByRole('heading', { name: 'Pinned' }).waitFor({ state: 'detached' })

  await menu('Archive')
  await there('Handled').waitFor({ state: 'detached' })
  await page.getByRole('button', { name: 'Undo' }).last().click() // of the newest notice
  await there('Handled').waitFor()
  await menu('Archive')
  await chats(page).getByRole('button', { name: 'Archived' }).click()
  await here('Handled').waitFor()
  await menu('Take out of the archive')
  await there('Handled').waitFor()
  await chats(page).getByRole('button', { name: 'Archived chats' }).click()

  await menu('Delete')
  await here('Handled').waitFor({ state: 'detached' })
  await page.getByRole('button', { name: 'Undo' }).last().click() // of the newest notice
  await here('Handled').waitFor()
  await eventually(async () => assert.equal((await server.call(`/api/sessions/${id}`)).title, 'Handled'))
  await menu('Delete')
  await here('Handled').waitFor({ state: 'detached' })
  await page.goto('/usage') // leaving does not lose it
  await there('Handled').waitFor({ state: 'detached' })
  await eventually(() => assert.rejects(server.call(`/api/sessions/${id}`), /404/))
})

on.test('a session’s page: its turns, why it went where, its messages, export', async ({ page, server }) => {
  const { id } = (await server.sessions()).find((one) => one.title === 'From a coding agent')
  await page.goto('/sessions')
  await row(page, 'From a coding agent').getByRole('link').first().click()
  await page.waitForURL(new RegExp(`/sessions/${id}`))
  await page.getByRole('heading', { name: 'From a coding agent' }).waitFor()
  await page.getByRole('tab', { name: /Messages/ }).click()
  await page.getByRole('region', { name: 'Messages' }).getByText('Answer 1 to: From a coding agent').waitFor()
  await page.getByRole('button', { name: 'Open the chat', exact: true }).waitFor()
  await page.getByRole('button', { name: 'More' }).click()
  await page.getByRole('menuitem', { name: 'Archive' }).waitFor()
  assert.equal(await page.getByRole('menuitem', { name: 'Open the chat' }).count(), 0, 'it stands beside the menu')
  await page.keyboard.press('Escape')
  await page.getByRole('tab', { name: /Tree/ }).click()
  await page.getByRole('button', { name: 'Export' }).click()
  const loading = page.waitForEvent('download')
  await page.getByRole('menuitem', { name: 'Export as Markdown' }).click()
  assert.match((await loading).suggestedFilename(), /\.md$/)
})

on.test('a path that leads nowhere: 404, the app’s own page, and a way home', async ({ page }) => {
  const response = await page.goto('/nowhere/at%2Fall?x=1')
  assert.equal(response.status(), 404)
  await page.getByText('There is no page at this address').waitFor()
  await page.getByRole('link', { name: 'Go to the chat' }).click()
  await page.getByRole('textbox', { name: 'Message', exact: true }).waitFor()
  assert.equal(new URL(page.url()).pathname, '/')
})
