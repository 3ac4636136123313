// 50,000 sessions. The Go test beside this file makes the store meanwhile; without it there is nothing to test.
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { test } from 'node:test'
import { chats } from './helpers/chat.mjs'
import { eventually, patience, stage } from './helpers/stage.mjs'

const store = process.env.BIG_STORE

if (!store) {
  test('50,000 sessions', { skip: 'BIG_STORE names no store; go test makes one' }, () => {})
} else {
  const on = stage({
    ready: () => eventually(() => assert.ok(existsSync(store), 'the store is not whole yet'), 4 * patience),
    config: () => ({ store: `sqlite:${store}` }),
  })
  const grid = (page) => page.getByRole('treegrid', { name: 'Sessions' })
  const nodes = (page) => page.evaluate(() => document.querySelectorAll('*').length)

  on.test('50,000 sessions: the document stays small, the end of a long scroll has rows', async ({ page }) => {
    await page.goto('/sessions')
    await grid(page).getByRole('row').nth(10).waitFor()
    await page.getByText(/10,000\+?.*sessions/).waitFor()
    const first = await nodes(page)
    assert.ok(first < 3000, `${first} nodes at the top`)
    const rows = () => grid(page).evaluate((box) => Math.round(box.scrollHeight / 44))
    for (let had = 0, now = await rows(); now < 2000; now = await rows()) {
      assert.ok(now > had, `the list ended at ${now} rows`)
      had = now
      await grid(page).evaluate((box) => { box.scrollTop = box.scrollHeight })
      await eventually(async () => assert.ok((await rows()) > had))
    }
    await eventually(async () => {
      const seen = await grid(page).evaluate((box) => {
        const { top, bottom } = box.getBoundingClientRect()
        return [...box.querySelectorAll('[data-row]')].map((one) => one.getBoundingClientRect()).filter((one) => one.bottom > top && one.top < bottom).length
      })
      assert.ok(seen >= 5, `${seen} rows in sight`)
    })
    const last = await nodes(page)
    assert.ok(last < first * 1.5 + 500, `${last} nodes far down, ${first} at the top`)
  })

  on.test('50,000 sessions: filters come from the address and narrow on the server', async ({ page }) => {
    await page.goto('/sessions?client=codex&q=harbour%20plan%2049')
    await grid(page).getByRole('row').filter({ hasText: 'Harbour plan 49' }).first().waitFor()
    const clients = await grid(page).locator('[data-row]').evaluateAll((all) => all.map((one) => one.textContent))
    assert.ok(clients.every((text) => text.includes('Codex') && text.includes('Harbour plan 49')), clients.slice(0, 3).join('\n'))
    assert.equal(await page.getByRole('searchbox', { name: 'Filter by title or key' }).inputValue(), 'harbour plan 49')
  })

  on.test('50,000 sessions: the chat’s list is as small, and has them all in reach', async ({ page }) => {
    await page.goto('/')
    await chats(page).getByRole('listitem').nth(10).waitFor()
    assert.ok((await nodes(page)) < 3000)
    const box = chats(page).locator('div:has(> ul)')
    const height = () => box.evaluate((one) => one.scrollHeight)
    for (let had = 0, now = await height(); now < 20_000; now = await height()) {
      assert.ok(now > had)
      had = now
      await box.evaluate((one) => { one.scrollTop = one.scrollHeight })
      await eventually(async () => assert.ok((await height()) > had))
    }
    assert.ok((await nodes(page)) < 3000)
  })
}
