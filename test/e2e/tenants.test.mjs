// The tenant edge as operators see it: whose slot is whose, and moving and releasing them.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import http from 'node:http'
import net from 'node:net'
import { after } from 'node:test'
import { keyed } from './helpers/server.mjs'
import { signIn } from './helpers/signin.mjs'
import { eventually, stage, upstream } from './helpers/stage.mjs'

const [alice, root] = ['mk_alice-0123456789abcdef', 'mk_root-0123456789abcdef']
const host = 'chat.example.org'

/** A web UI that says of every page whose it is. */
async function webUI() {
  const server = http.createServer((request, response) => {
    response.setHeader('Content-Type', 'application/json')
    response.end(JSON.stringify({ seen: request.headers['x-hermes-tenant-identity'] ?? null }))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  after(() => server.close())
  return `http://127.0.0.1:${server.address().port}`
}

async function freePort() {
  const server = net.createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address()
  server.close()
  return port
}

const port = await freePort()
const slots = [{ name: 'tenant-0', url: await webUI() }, { name: 'tenant-1', url: await webUI() }]

/** What the edge answers a person. */
const visit = (who) => new Promise((resolve, reject) => {
  http.get({ host: '127.0.0.1', port, path: '/api/x', headers: { Host: host, 'X-Forwarded-User': who }, agent: false }, (response) => {
    response.resume().on('end', () => resolve(response.statusCode))
  }).on('error', reject)
})

const on = stage({
  config: () => ({
    upstreams: [upstream(on.model, { name: 'north' })],
    keys: [keyed('alice', alice, { tenant: 'acme' }), keyed('root', root, { role: 'operator' })],
    edge: {
      listen: `127.0.0.1:${port}`, host, slots, salt: 's'.repeat(32), identity: { source: 'x-forwarded-user', trusted: ['127.0.0.1/32'] },
    },
  }),
})

const slot = (page, name) => page.getByRole('listitem').filter({ hasText: name }).filter({ hasText: 'In flight' })

on.test('tenants: a person is found, moved in two steps and released, each after a question', async ({ page }) => {
  await signIn(page, root, '/tenants')
  await page.getByText('0 of 2 slots taken, 2 free').waitFor()
  assert.equal(await visit('ann'), 200)
  await page.reload()
  await page.getByText('1 of 2 slots taken, 1 free').waitFor()
  await page.getByRole('searchbox', { name: "Find a person's slot" }).fill('ann')
  const found = page.getByText(/^Theirs is tenant-[01]\.$/)
  await found.waitFor()
  const from = (await found.textContent()).match(/tenant-\d/)[0]
  const to = from === 'tenant-0' ? 'tenant-1' : 'tenant-0'
  await page.getByRole('searchbox', { name: "Find a person's slot" }).fill('nobody-here')
  await page.getByText('Nobody of that name has a slot.').waitFor()

  await page.getByRole('button', { name: `Move ${from}` }).click()
  await page.getByRole('dialog', { name: `Move ${from}?` }).getByRole('button', { name: 'Move', exact: true }).click()
  await slot(page, from).getByText('draining', { exact: true }).waitFor()
  assert.equal(await visit('ann'), 503)
  await page.getByRole('button', { name: `Copied ${from}` }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Copied', exact: true }).click()
  await slot(page, to).getByText('taken', { exact: true }).waitFor()
  assert.equal(await visit('ann'), 200)
  assert.equal(await visit('ben'), 503, 'what was left behind is given to nobody')

  await page.getByRole('button', { name: `Wiped ${from}` }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Wiped', exact: true }).click()
  await slot(page, from).getByText('free', { exact: true }).waitFor()
  await eventually(async () => assert.equal(await visit('ben'), 200))
})

on.test('tenants: users see whose page it is, and nothing of anybody', async ({ page, server }) => {
  await signIn(page, alice, '/tenants')
  await page.getByText('This page is for operators').waitFor()
  await assert.rejects(server.call('/api/tenants', { key: alice }), /403/)
})
