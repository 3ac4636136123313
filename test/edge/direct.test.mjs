// The edge with direct login, as people see it who come from a provider's login page.
import assert from 'node:assert/strict'
import { banner, eventually, loginCookie, messages, sessions, stage } from './stage.mjs'

const on = stage('EDGE_DIRECT')

async function leave(visitor) {
  await visitor.page.getByRole('button', { name: 'Sign out' }).click()
  await visitor.page.waitForURL(/\/oauth2\/sign_out/)
  await visitor.page.getByRole('button', { name: 'Sign out' }).click()
  await visitor.page.getByLabel('Username').waitFor() // by way of the provider, whose session ends too, back to the first page, which wants a login
}

/** Comes back to a tab. A browser without a window keeps the focus to itself. */
async function look(page) {
  await page.bringToFront()
  await page.evaluate(() => window.dispatchEvent(new Event('focus')))
}

on.test('who logs out and in again is at the same slot and session', async ({ visitor, people, ended }) => {
  const alice = await visitor(people[0])
  const first = await alice.login()
  const session = await alice.talk('remember the plums')
  const before = await ended()
  await leave(alice)
  assert.equal(await ended(), before + 1, 'logouts that the provider has seen')
  assert.deepEqual((await alice.cookies()).filter((one) => !one.name.startsWith('__Host-mooring_oidc_')), [])
  assert.deepEqual(await alice.login(session), first)
  await messages(alice.page).getByText('user: remember the plums').waitFor()
  await sessions(alice.page).getByText('remember the plums').waitFor()
})

on.test('somebody else with the first one’s address, cookies and name gets nothing of theirs', async ({ visitor, people, seen, url }) => {
  const alice = await visitor(people[0])
  const first = await alice.login()
  const session = await alice.talk('the secret of alice')
  const stolen = (await alice.cookies()).filter((one) => one.name !== loginCookie)
  assert.ok(stolen.some((one) => one.name === 'hermes_chat_session') && stolen.some((one) => one.name === '__Host-mooring_slot'), JSON.stringify(stolen))
  await alice.page.goto('about:blank') // nothing of hers is asked from here on
  const before = (await seen(first.slot)).length
  const bob = await visitor(people[1], {
    extraHTTPHeaders: {
      'X-Forwarded-User': people[0].subject, 'X-Forwarded-Email': people[0].name, 'X-Auth-Request-User': people[0].subject, 'Remote-User': people[0].subject,
      'X-Hermes-Tenant-Identity': first.key, 'x_hermes_tenant_identity': first.key,
    },
  })
  await bob.page.goto(session)
  await bob.page.getByLabel('Username').waitFor() // none of it is a login
  await bob.type()
  const second = await bob.at()
  assert.notEqual(second.slot, first.slot)
  assert.notEqual(second.key, first.key)
  for (const address of [session, '/', `/api/session?session_id=${session.split('/')[2]}`, '/api/sessions']) {
    await bob.context.addCookies(stolen)
    await bob.page.goto(address)
    assert.ok(!(await bob.page.content()).includes('the secret of alice'), address)
  }
  await bob.context.addCookies(stolen)
  await bob.page.goto(session)
  await bob.page.getByText('There is no such session').waitFor()
  assert.deepEqual(await bob.at(), second)
  assert.equal((await seen(first.slot)).length, before, `${first.slot} was asked`)
  for (const { url: asked, header } of await seen(second.slot)) {
    assert.deepEqual(header['X-Hermes-Tenant-Identity'], [second.key], asked)
    const sent = JSON.stringify(header)
    for (const one of [...stolen, { value: first.key }, { value: people[0].name }]) assert.ok(!sent.includes(one.value), `${second.slot} was shown ${one.name ?? one.value} at ${asked}`)
    assert.equal(header['X-Forwarded-User'], undefined)
  }
  assert.ok(url.startsWith('http://localhost:'))
})

on.test('a login that ends while a page is open is told in a bar, which leads back to this very page', async ({ visitor, people, signOut }) => {
  const alice = await visitor(people[0])
  const first = await alice.login()
  const session = await alice.talk('still here')
  assert.equal(await banner(alice.page).filter({ visible: true }).count(), 0)
  await signOut(people[0])
  await banner(alice.page).getByText('You are signed out here.').waitFor()
  const link = banner(alice.page).getByRole('link', { name: 'Sign in again' })
  assert.equal(await link.getAttribute('href'), `/oauth2/start?rd=${encodeURIComponent(session)}`)
  await messages(alice.page).getByText('user: still here').waitFor() // the page is left as it was
  await link.click()
  await alice.type()
  assert.equal(new URL(alice.page.url()).pathname, session)
  assert.deepEqual(await alice.at(), first)
  await messages(alice.page).getByText('user: still here').waitFor()
  assert.equal(await banner(alice.page).filter({ visible: true }).count(), 0)
})

on.test('a logout at the provider ends open streams at once', async ({ visitor, people, signOut }) => {
  const alice = await visitor(people[0])
  const { page } = alice
  await alice.login()
  await page.getByText('live', { exact: true }).waitFor()
  await alice.talk('tell me a long story')
  await page.evaluate(() => {
    window.ended = []
    fetch('/api/sessions/events').then(async (response) => {
      const reader = response.body.getReader()
      while (!(await reader.read()).done);
      window.ended.push(performance.now())
    })
  })
  const began = await page.evaluate(() => performance.now())
  await signOut(people[0])
  await messages(page).getByText('[broken off]').waitFor({ timeout: 5000 })
  await page.getByText('not live').waitFor({ timeout: 5000 })
  const [end] = await eventually(async () => {
    const all = await page.evaluate(() => window.ended)
    assert.equal(all.length, 1)
    return all
  }, 5000)
  assert.ok(end - began < 5000, `the stream ended after ${end - began} ms`)
  await look(page)
  await banner(page).getByText('You are signed out here.').waitFor()
})

on.test('two tabs share a slot; the next person in that browser has their own, and sees nothing of the first', async ({ visitor, people, seen }) => {
  const alice = await visitor(people[0])
  const { page } = alice
  const first = await alice.login()
  const old = await alice.context.newPage()
  await old.goto('/')
  assert.deepEqual(await alice.at(old), first)
  const session = await alice.talk('only for alice', old)
  await sessions(page).getByText('only for alice').waitFor()
  await page.bringToFront()
  await leave(alice)
  await look(old)
  await banner(old).getByText('You are signed out here.').waitFor()

  await page.bringToFront()
  await alice.type(page, people[1])
  const second = await alice.at(page)
  assert.notEqual(second.slot, first.slot)
  const before = (await seen(first.slot)).length
  assert.ok(!(await page.content()).includes('only for alice'))
  await alice.talk('only for bob', page)
  await page.goto(session)
  await page.getByText('There is no such session').waitFor()
  assert.equal(await page.evaluate(() => localStorage.getItem('hermes-webui-session')) === session.split('/')[2], false)
  assert.ok(!(await page.content()).includes('only for alice'))

  await look(old)
  await banner(old).getByText('Somebody else has signed in here; this page is not theirs.').waitFor()
  assert.ok(!(await messages(old).textContent()).includes('only for bob'))
  assert.equal((await seen(first.slot)).length, before, `${first.slot} was asked`)
})
