// C165: times are the reader's own.
import assert from 'node:assert/strict'
import { stage } from './helpers/stage.mjs'

const on = stage()

for (const [timezoneId, zone] of [['Pacific/Apia', '+13'], ['America/St_Johns', '-3:30'], ['UTC', 'UTC']]) {
  on.test(`C165: times are shown in the reader's zone (${timezoneId})`, async ({ page, server }) => {
    const { id } = await server.turn('What time is it?', { session: `zone-${timezoneId}` })
    await page.goto(`/sessions/${id}`)
    const time = page.locator('time').first()
    await time.waitFor()
    const at = await time.getAttribute('datetime')
    assert.match(at, /Z$/, 'the server speaks UTC')
    const said = await time.getAttribute('title')
    const want = new Date(at).toLocaleString('en-US', { dateStyle: 'full', timeStyle: 'long', timeZone: timezoneId })
    assert.equal(said.replace(/\s+/g, ' '), want.replace(/\s+/g, ' '))
    assert.ok(said.includes(zone) || /[A-Z]{3}/.test(said), `${said} names no zone`)
  }, { timezoneId, locale: 'en-US' })
}

on.test('C165: a day in the list is a day of the reader', async ({ page, server }) => {
  await server.turn('Which day?', { session: 'zone-day' })
  await page.goto('/')
  await page.getByRole('complementary', { name: 'Chats' }).getByRole('heading', { name: 'Today' }).waitFor()
}, { timezoneId: 'Pacific/Apia' })
