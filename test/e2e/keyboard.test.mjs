// Everything without a pointer.
import assert from 'node:assert/strict'
import { answers, chats, composer, sessionOf, shows } from './helpers/chat.mjs'
import { eventually, stage } from './helpers/stage.mjs'

const on = stage()

const focused = (page) => page.evaluate(() => {
  const one = document.activeElement
  return { role: one?.getAttribute('role') ?? one?.tagName.toLowerCase(), name: one?.getAttribute('aria-label') ?? one?.labels?.[0]?.textContent ?? one?.textContent?.trim() ?? '' }
})

/** Tabs until something of that name has the focus, which is then to be seen. */
async function tabTo(page, name, key = 'Tab') {
  for (let i = 0; i < 60; i++) {
    await page.keyboard.press(key)
    const at = await focused(page)
    if (name instanceof RegExp ? name.test(at.name) : at.name === name) {
      const visible = await page.evaluate(() => {
        const { outlineStyle, outlineWidth, boxShadow } = getComputedStyle(document.activeElement)
        const field = document.activeElement.matches('input:not([type=radio]), textarea')
        if (document.activeElement.type === 'radio') return getComputedStyle(document.activeElement.labels[0]).outlineStyle !== 'none'
        return field || (outlineStyle !== 'none' && outlineWidth !== '0px') || boxShadow !== 'none'
      })
      assert.ok(visible, `the focus on ${at.name} is not to be seen`)
      return
    }
  }
  throw new Error(`nothing named ${name} is reached by ${key}`)
}

const type = (page, text) => page.keyboard.type(text)

on.test('keyboard only: ask, new line, another chat, rename, the menu', async ({ page, server }) => {
  await page.goto('/')
  await eventually(async () => assert.equal((await focused(page)).name, 'Message'))
  await type(page, 'By keyboard')
  await page.keyboard.press('Shift+Enter')
  await type(page, 'in two lines')
  await page.keyboard.press('Enter')
  await answers(page).filter({ hasText: 'in two lines' }).waitFor()
  const session = await sessionOf(page, server)
  assert.equal((await server.messages(session.id))[0].text, 'By keyboard\nin two lines')

  // Out of the field, then a new chat by its key.
  await page.keyboard.press('Shift+Tab')
  await page.keyboard.press('n')
  await page.waitForURL((url) => url.pathname === '/')
  await eventually(async () => assert.equal((await focused(page)).name, 'Message'))
  await type(page, 'Another one')
  await page.keyboard.press('Enter')
  await shows(page, 'You: Another one', 'Answer: Answer 1 to: Another one')
  await sessionOf(page, server)

  await tabTo(page, /^By keyboard/, 'Shift+Tab')
  await page.keyboard.press('Enter')
  await answers(page).filter({ hasText: 'in two lines' }).waitFor()
  await tabTo(page, /^By keyboard/, 'Shift+Tab')
  await tabTo(page, 'More')
  await page.keyboard.press('Enter')
  await page.getByRole('menu').waitFor()
  await eventually(async () => assert.match((await focused(page)).name, /Rename/))
  await page.keyboard.press('Enter')
  await eventually(async () => assert.equal((await focused(page)).name, 'Title'))
  await page.keyboard.press('Control+A')
  await type(page, 'Renamed by keyboard')
  await page.keyboard.press('Enter')
  await chats(page).getByRole('link', { name: 'Renamed by keyboard' }).waitFor()
  await eventually(async () => assert.equal((await server.call(`/api/sessions/${session.id}`)).title, 'Renamed by keyboard')) // the list shows it before it is kept
})

on.test('keyboard only: Escape stops an answer, and closes a menu where it was opened', async ({ page, model }) => {
  const held = model.hold('Escape')
  await page.goto('/')
  await composer(page).waitFor()
  await eventually(async () => assert.equal((await focused(page)).name, 'Message'))
  await type(page, 'Escape')
  await page.keyboard.press('Enter')
  await held.send('so far')
  await answers(page).filter({ hasText: 'so far' }).waitFor()
  await page.keyboard.press('Escape')
  await held.abandoned
  await page.getByText('Stopped.').waitFor()
  await tabTo(page, 'You and settings', 'Shift+Tab')
  await page.keyboard.press('Enter')
  await page.getByRole('menu').waitFor()
  await page.keyboard.press('Escape')
  await page.getByRole('menu').waitFor({ state: 'detached' })
  await eventually(async () => assert.equal((await focused(page)).name, 'You and settings'))
})

on.test('keyboard only: the table, its rows, a session and the way between pages', async ({ page, server }) => {
  for (const n of [1, 2, 3]) await server.turn(`Row ${n} of the table`, { session: `key-row-${n}` })
  await page.goto('/')
  await composer(page).waitFor()
  await page.keyboard.press('Shift+Tab')
  await page.keyboard.press('g')
  await page.keyboard.press('s')
  await page.waitForURL(/\/sessions$/)
  await page.getByRole('row').filter({ hasText: 'Row 3 of the table' }).waitFor()
  await page.keyboard.press('/')
  await eventually(async () => assert.equal((await focused(page)).name, 'Filter by title or key'))
  await page.keyboard.press('ArrowDown')
  await eventually(async () => assert.match((await focused(page)).name, /Row 3/))
  await page.keyboard.press('ArrowDown')
  await eventually(async () => assert.match((await focused(page)).name, /Row 2/))
  await page.keyboard.press('Home')
  await eventually(async () => assert.match((await focused(page)).name, /Row 3/))
  await page.keyboard.press('Tab')
  await eventually(async () => assert.equal((await focused(page)).name, 'Actions'))
  await page.keyboard.press('Enter')
  await page.getByRole('menu').waitFor()
  await page.keyboard.press('Escape')
  await page.getByRole('menu').waitFor({ state: 'detached' })
  await page.keyboard.press('Shift+Tab')
  await eventually(async () => assert.match((await focused(page)).name, /Row 3/))
  await page.keyboard.press('Enter')
  await page.waitForURL(/\/sessions\/ses_/)
  await page.getByRole('heading', { name: 'Row 3 of the table' }).waitFor()
  await page.keyboard.press('?')
  await page.getByRole('dialog', { name: 'Keyboard' }).waitFor()
  await page.keyboard.press('Escape')
  await page.getByRole('dialog').waitFor({ state: 'detached' })
})

on.test('keyboard only: usage is grouped, sorted and taken along; upstreams are drained and their charts read', async ({ page, server }) => {
  await server.turn('Something to count', { session: 'key-usage' })
  await page.goto('/usage')
  await page.getByRole('columnheader', { name: 'Cost' }).waitFor()
  await tabTo(page, 'Model')
  await page.keyboard.press('ArrowRight')
  await page.keyboard.press('ArrowRight')
  await page.waitForURL(/by=key/)
  await page.getByRole('rowheader', { name: 'without a key' }).waitFor()
  await tabTo(page, 'Turns')
  await page.keyboard.press('Enter')
  await page.locator('th[aria-sort=descending]', { hasText: 'Turns' }).waitFor()
  await page.keyboard.press('Space')
  await page.locator('th[aria-sort=ascending]', { hasText: 'Turns' }).waitFor()
  const loading = page.waitForEvent('download')
  await tabTo(page, 'CSV', 'Shift+Tab')
  await page.keyboard.press('Enter')
  await loading

  await page.goto('/upstreams')
  await page.getByRole('slider').first().waitFor()
  await tabTo(page, 'Drain fake')
  await page.keyboard.press('Enter')
  await page.getByRole('dialog', { name: 'Drain fake?' }).waitFor()
  await page.keyboard.press('Escape')
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  await eventually(async () => assert.equal((await focused(page)).name, 'Drain fake'))
  await tabTo(page, 'Requests over time')
  const said = () => page.evaluate(() => document.activeElement.getAttribute('aria-valuetext'))
  const whole = await said()
  await page.keyboard.press('End')
  await eventually(async () => assert.notEqual(await said(), whole))
  const last = await said()
  await page.keyboard.press('ArrowLeft')
  await eventually(async () => assert.notEqual(await said(), last))
  await page.keyboard.press('Escape')
  await eventually(async () => assert.equal(await said(), whole))
})
