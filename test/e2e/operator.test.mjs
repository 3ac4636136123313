// What operators see and order: draining, and what keys have used of what they may.
import assert from 'node:assert/strict'
import { text } from 'node:stream/consumers'
import { keyed } from './helpers/server.mjs'
import { signIn } from './helpers/signin.mjs'
import { eventually, stage, upstream } from './helpers/stage.mjs'

const [alice, bob, root] = ['mk_alice-0123456789abcdef', 'mk_bob-0123456789abcdef', 'mk_root-0123456789abcdef']
const on = stage({
  config: () => ({
    upstreams: [upstream(on.model, { name: 'north', models: ['fake-1', 'fake-2'] }), upstream(on.model, { name: 'south', models: ['fake-1'] })],
    prices: { 'fake-*': { input: 1000, output: 1000 } },
    keys: [
      keyed('alice', alice, { tenant: 'acme', budget_usd: 2, requests_per_minute: 60, streams: 4, models: ['fake-1'], expires: '2099-01-01T12:00:00Z' }),
      keyed('bob', bob, { tenant: 'globex' }), keyed('root', root, { role: 'operator' }),
    ],
  }),
  prepare: async ({ server }) => {
    for (const n of [1, 2]) await server.turn(`Bob ${n}`, { key: bob, session: 'bob-1', more: { model: 'fake-2' } })
    for (const n of [1, 2]) await server.turn(`Alice ${n}`, { key: alice, session: 'alice-1' })
  },
})

const row = (page, name) => page.getByRole('row').filter({ has: page.getByRole('rowheader', { name }) })
const drained = async (server) => (await server.call('/api/upstreams', { key: root })).upstreams.filter((one) => one.drained).map((one) => one.name)

on.test('drain and resume: confirmed first, told as it stands, also to another page and after a reload', async ({ page, profile, server }) => {
  await signIn(page, root, '/upstreams')
  await page.getByRole('button', { name: 'Drain north' }).click()
  const dialog = page.getByRole('dialog', { name: 'Drain north?' })
  await dialog.getByText('No other upstream takes new sessions for fake-2.').waitFor()
  await page.keyboard.press('Escape')
  await dialog.waitFor({ state: 'detached' })
  assert.deepEqual(await drained(server), [], 'drained by what was not confirmed')

  const other = await profile.page()
  await other.goto('/upstreams')
  await other.getByRole('button', { name: 'Drain north' }).waitFor()
  await page.getByRole('button', { name: 'Drain north' }).click()
  await dialog.getByRole('button', { name: 'Drain', exact: true }).click()
  await row(page, 'north').getByText('draining', { exact: true }).waitFor()
  await row(page, 'north').getByText(/^No new sessions\. [12] sessions? (is|are) left\.$/).waitFor()
  assert.deepEqual(await drained(server), ['north'])
  assert.equal(await row(page, 'south').getByText('draining').count(), 0)
  await assert.rejects(server.turn('Nobody takes it', { key: bob, session: 'bob-2', more: { model: 'fake-2' } }), /503/)

  await page.reload()
  await row(page, 'north').getByText(/^No new sessions/).waitFor()
  await row(other, 'north').getByText(/^No new sessions/).waitFor() // by itself
  await page.getByRole('button', { name: 'Resume north' }).click()
  await page.getByText('north takes new sessions again').waitFor()
  await page.getByRole('button', { name: 'Drain north' }).waitFor()
  assert.equal(await row(page, 'north').getByText('draining').count(), 0)
  assert.deepEqual(await drained(server), [])
})

on.test('drain: what goes wrong is said where it was ordered, and nothing is shown that is not so', async ({ page, server }) => {
  await signIn(page, root, '/upstreams')
  const refuse = (route) => route.fulfill({ status: 500, contentType: 'application/json', body: JSON.stringify({ error: { message: 'The store cannot be written to.', code: 'internal_error' } }) })
  await page.route('**/api/upstreams/*/*', refuse)
  await page.getByRole('button', { name: 'Drain south' }).click()
  const dialog = page.getByRole('dialog', { name: 'Drain south?' })
  assert.equal(await dialog.getByText('No other upstream').count(), 0, 'north has all that south has')
  await dialog.getByRole('button', { name: 'Drain', exact: true }).click()
  await dialog.getByRole('alert').getByText('The store cannot be written to.').waitFor()
  assert.equal(await row(page, 'south').getByText('draining').count(), 0)

  await page.unroute('**/api/upstreams/*/*', refuse)
  await dialog.getByRole('button', { name: 'Drain', exact: true }).click()
  await dialog.waitFor({ state: 'detached' })
  await page.context().setOffline(true)
  await page.getByRole('button', { name: 'Resume south' }).click()
  await page.getByText(/^Mooring cannot be reached\. Check/).waitFor()
  assert.deepEqual(await drained(server), ['south'])
  await page.context().setOffline(false)
  await page.getByRole('button', { name: 'Resume south' }).click()
  await page.getByRole('button', { name: 'Drain south' }).waitFor()
})

on.test('drain: on a phone, by keyboard', async ({ page, server }) => {
  await signIn(page, root, '/upstreams')
  await page.getByRole('button', { name: 'Drain south' }).focus()
  await page.keyboard.press('Enter')
  await page.getByRole('dialog', { name: 'Drain south?' }).waitFor()
  for (let i = 0; i < 4 && (await page.evaluate(() => document.activeElement.textContent)) !== 'Drain'; i++) await page.keyboard.press('Tab')
  await page.keyboard.press('Enter')
  await page.getByRole('button', { name: 'Resume south' }).waitFor()
  await eventually(async () => assert.equal(await page.evaluate(() => document.activeElement.getAttribute('aria-label')), 'Resume south', 'the focus comes back'))
  await page.keyboard.press('Enter')
  await page.getByRole('button', { name: 'Drain south' }).waitFor()
  assert.deepEqual(await drained(server), [])
}, { viewport: { width: 360, height: 740 } })

on.test('usage by key: an operator sees what each key may and has spent, and gets it as a table', async ({ page }) => {
  await signIn(page, root, '/usage')
  await page.getByRole('radio', { name: 'Key' }).check()
  const of = (name) => row(page, new RegExp(`^${name}$`)).getByRole('cell')
  await eventually(async () => assert.match((await of('alice').allInnerTexts()).join(' | '), /\$2\.88 of \$2\.00/))
  assert.match((await of('alice').allInnerTexts()).join(' | '), /spent: refused.*60 requests a minute, 4 at once\n*fake-1\n*until .*2099/s)
  assert.match((await of('bob').allInnerTexts()).join(' | '), /\$2\.88 \| \$2\.88 .*\| none$/)
  const [file] = await Promise.all([page.waitForEvent('download'), page.getByRole('link', { name: 'CSV' }).click()])
  assert.match(file.suggestedFilename(), /^usage-by-key\.csv$/)
  const lines = (await text(await file.createReadStream())).trim().split('\r\n')
  assert.match(lines[0], /^key,turns,failed/)
  assert.deepEqual(lines.slice(1).map((line) => line.split(',').slice(0, 2).join(' ')).sort(), ['alice 2', 'bob 2'])
})

on.test('users see no orders, and of keys their own alone', async ({ page }) => {
  await signIn(page, bob, '/upstreams')
  await page.getByText('north').first().waitFor()
  assert.equal(await page.getByRole('button', { name: /Drain|Resume/ }).count(), 0)
  await page.goto('/usage?by=key')
  await row(page, 'bob').getByText('none', { exact: true }).waitFor()
  assert.equal(await page.getByText('alice').count(), 0)
})
