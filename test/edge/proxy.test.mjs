// The edge behind oauth2-proxy, as people see it who come from a provider's login page.
import assert from 'node:assert/strict'
import { banner, messages, sessions, stage } from './stage.mjs'

const on = stage('EDGE_PROXY')

on.test('behind a login proxy, who logs out and in again is at the same slot and session, and the next person is not', async ({ visitor, people, seen }) => {
  const alice = await visitor(people[0])
  const { page } = alice
  const first = await alice.login()
  const session = await alice.talk('remember the plums')
  const leave = async () => {
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByLabel('Username').waitFor() // the proxy signs out and leads to the first page, which wants a login
  }
  await leave()
  assert.deepEqual(await alice.login(session), first)
  await messages(page).getByText('user: remember the plums').waitFor()
  await sessions(page).getByText('remember the plums').waitFor()

  await leave()
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
