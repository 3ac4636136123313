// Sign-in with keys: who gets in, who does not, and who sees whose sessions.
import assert from 'node:assert/strict'
import { ask, chat, chats, composer, sessionOf } from './helpers/chat.mjs'
import { keyed } from './helpers/server.mjs'
import { keyField as field, signIn } from './helpers/signin.mjs'
import { eventually, patience, stage } from './helpers/stage.mjs'

const [alice, bob, root, brief] = ['mk_alice-0123456789abcdef', 'mk_bob-0123456789abcdef', 'mk_root-0123456789abcdef', 'mk_brief-0123456789abcdef']
const lasting = [keyed('alice', alice, { tenant: 'acme' }), keyed('bob', bob, { tenant: 'globex' }), keyed('root', root, { role: 'operator' })]
const on = stage({ config: () => ({ keys: [...lasting, keyed('brief', brief, { tenant: 'acme' })] }) })

on.test('a page leads to sign-in, a wrong key is refused in words, the right one leads back', async ({ page, context }) => {
  await page.goto('/usage?by=day')
  await page.waitForURL(/\/sign-in\?back=/)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByText('Paste your key first.').waitFor()
  await field(page).fill('mk_wrong-0123456789abcdef')
  await field(page).press('Enter')
  await page.getByText('This server does not know that key.').waitFor()
  assert.deepEqual(await context.cookies(), [])
  await field(page).fill(` ${alice} `)
  await field(page).press('Enter')
  await page.waitForURL(/\/usage\?by=day$/)
  await page.getByRole('heading', { name: 'Usage' }).waitFor()
  const [cookie] = await context.cookies()
  assert.deepEqual([cookie.name, cookie.httpOnly, cookie.sameSite], ['mooring_sign_in', true, 'Strict'])
  assert.ok(!cookie.value.includes('alice'), 'the key stands in the cookie')
  assert.ok(!JSON.stringify(await page.evaluate(() => ({ ...localStorage, ...sessionStorage }))).includes(alice), 'the key is kept by the page')
})

on.test('back leads to pages of this server alone', async ({ page }) => {
  await signIn(page, alice, '/sign-in?back=https://elsewhere.example/')
  assert.equal(new URL(page.url()).origin, new URL(on.server.url).origin)
})

on.test('sign-out ends it, for other tabs too', async ({ page, profile, context }) => {
  await signIn(page, alice)
  const other = await profile.page()
  await other.goto('/search')
  await other.getByRole('heading', { name: 'Search' }).first().waitFor()
  await page.getByRole('button', { name: 'You and settings' }).click()
  await page.getByText('alice').waitFor()
  await page.getByRole('menuitem', { name: 'Sign out' }).click()
  await page.waitForURL(/\/sign-in/)
  await field(page).waitFor()
  assert.deepEqual(await context.cookies(), [])
  await other.goto('/sessions')
  await other.waitForURL(/\/sign-in/)
})

on.test('what one has typed, nobody else finds: not after signing out, not with another key', async ({ page, context }) => {
  await signIn(page, alice)
  await composer(page).fill('Half a secret')
  await page.getByRole('button', { name: 'You and settings' }).click()
  await page.getByRole('menuitem', { name: 'Sign out' }).click()
  await page.waitForURL(/\/sign-in/)
  await signIn(page, alice)
  assert.equal(await composer(page).inputValue(), '')
  await composer(page).fill('Half of another')
  await context.clearCookies() // as when it has run out
  await signIn(page, bob)
  assert.equal(await composer(page).inputValue(), '')
  await composer(page).fill('Of bob')
  await context.clearCookies()
  await signIn(page, bob)
  assert.equal(await composer(page).inputValue(), 'Of bob')
})

on.test('a key that is taken away takes its sign-in along (SIGHUP)', async ({ page, context, server }) => {
  await signIn(page, brief)
  await page.getByRole('heading', { name: 'Every conversation' }).waitFor()
  const [cookie] = await context.cookies()
  await server.reload(on.config({ keys: lasting }))
  const status = () => fetch(`${server.url}/api/me`, { headers: { Cookie: `${cookie.name}=${cookie.value}` } }).then((r) => r.status)
  await eventually(async () => assert.equal(await status(), 401))
  await page.goto('/sessions')
  await page.waitForURL(/\/sign-in/)
})

on.test('two tenants do not see each other', async ({ page, browser, server, model }) => {
  await signIn(page, alice)
  await chat(page, 'Secret of acme')
  const mine = await sessionOf(page, server, { key: alice })
  const other = await browser.newContext({ baseURL: server.url })
  other.setDefaultTimeout(patience)
  try {
    const theirs = await other.newPage()
    await signIn(theirs, bob)
    await theirs.getByText('No chat yet.').waitFor()
    const held = model.hold('A live one of acme')
    await ask(page, 'A live one of acme')
    await held.send('secret words')
    await chat(theirs, 'Secret of globex')
    assert.equal(await chats(theirs).getByText('acme').count(), 0)
    for (const address of [`/chat/${mine.friendly_id}`, `/chat/${mine.id}`]) {
      await theirs.goto(address)
      await theirs.getByText('There is no such chat').waitFor()
    }
    await theirs.goto(`/sessions/${mine.id}`)
    await theirs.getByText('There is no such session').waitFor()
    await theirs.goto('/search?q=secret')
    await theirs.getByRole('list', { name: 'Results' }).getByText('globex').first().waitFor()
    assert.equal(await theirs.getByText('acme').count(), 0)
    await theirs.goto('/sessions')
    await theirs.getByRole('row', { name: /Secret of globex/ }).waitFor()
    assert.equal(await theirs.getByText('acme').count(), 0)
    await held.end()
    await page.locator('article[aria-busy=true]').waitFor({ state: 'detached' })
    assert.equal(await chats(page).getByText('globex').count(), 0)
  } finally {
    await other.close()
  }
})

on.test('the operator’s pages are the operator’s', async ({ page, browser }) => {
  await signIn(page, root, '/upstreams')
  await page.getByText('fake').first().waitFor()
  await page.getByText('127.0.0.1').first().waitFor()
  await page.goto('/tenants')
  await page.getByText('There is no tenant edge here').waitFor()
  const other = await browser.newContext({ baseURL: on.server.url })
  other.setDefaultTimeout(patience)
  const theirs = await other.newPage()
  await signIn(theirs, alice, '/upstreams')
  await theirs.getByText('fake').first().waitFor()
  assert.equal(await theirs.getByText('127.0.0.1').count(), 0)
  await theirs.goto('/tenants')
  await theirs.getByText('This page is for operators').waitFor()
  assert.equal(await theirs.getByRole('link', { name: 'Tenants' }).count(), 0)
  await theirs.goto('/')
  await composer(theirs).waitFor()
  await other.close()
})
