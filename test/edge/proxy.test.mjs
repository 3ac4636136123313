// The edge behind oauth2-proxy, as people see it who come from a provider's login page.
import assert from 'node:assert/strict'
import { banner, messages, sessions, stage } from './stage.mjs'

const on = stage('EDGE_PROXY')

const leave = async (page) => {
  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.getByLabel('Username').waitFor() // the proxy signs out and leads to the first page, which wants a login
}

on.test('behind a login proxy, who logs out and in again is at the same slot and session, and the next person is not', async ({ visitor, people, seen, ended }) => {
  const alice = await visitor(people[0])
  const { page } = alice
  const first = await alice.login()
  const session = await alice.talk('remember the plums')
  const logouts = await ended()
  await leave(page)
  assert.equal(await ended(), logouts + 1, 'logouts that the provider has seen')
  assert.deepEqual(await alice.login(session), first)
  await messages(page).getByText('user: remember the plums').waitFor()
  await sessions(page).getByText('remember the plums').waitFor()

  await leave(page)
  const before = (await seen(first.slot)).length
  await page.goto(session)
  await alice.type(page, people[1])
  const second = await alice.at()
  assert.notEqual(second.slot, first.slot)
  await page.getByText('There is no such session').waitFor()
  assert.equal((await seen(first.slot)).length, before, `${first.slot} was asked`)
})

on.test('behind a login proxy, a login that has gone is told in a bar, which leads back to this very page', async ({ visitor, people }) => {
  const alice = await visitor(people[0])
  const { page, context } = alice
  const first = await alice.login()
  const session = await alice.talk('still here')
  for (const { name } of await context.cookies()) if (name.startsWith('_oauth2_proxy')) await context.clearCookies({ name })
  await banner(page).getByText('You are signed out here.').waitFor()
  await banner(page).getByRole('link', { name: 'Sign in again' }).click()
  await alice.type()
  assert.equal(new URL(page.url()).pathname, session)
  assert.deepEqual(await alice.at(), first)
  await messages(page).getByText('user: still here').waitFor()
})

on.test('behind a login proxy, a tab that is still open does not disturb the next login', async ({ visitor, people }) => {
  const alice = await visitor(people[0])
  const first = await alice.login()
  const old = alice.page
  await old.getByText('live', { exact: true }).waitFor()
  const tab = await alice.context.newPage()
  await tab.goto('/')
  assert.deepEqual(await alice.at(tab), first)
  await leave(tab)
  await old.evaluate(async () => { // it comes back for its stream by itself, and now finds no login
    const refused = new EventSource('/api/sessions/events')
    await new Promise((resolve) => { refused.onerror = resolve })
    refused.close()
  })
  await alice.type(tab)
  assert.deepEqual(await alice.at(tab), first)
})
