// What the browser tests of the edge stand on: a house that edge_test's program has started, and people with browsers of their own.
import assert from 'node:assert/strict'
import { mkdirSync } from 'node:fs'
import path from 'node:path'
import { after, before, test } from 'node:test'
import { launch } from '../e2e/helpers/browser.mjs'
import { eventually, patience } from '../e2e/helpers/stage.mjs'

export { eventually }
export const loginCookie = '__Host-mooring_sso'

const pictures = path.resolve(import.meta.dirname, '../e2e/out')

/** The house behind the control address in that variable. */
export function stage(variable) {
  const control = process.env[variable]
  const on = {
    /** What a web UI was asked so far. */
    seen: async (name) => (await (await fetch(`${control}/seen`)).json())[name],
    /** How many logouts the provider has seen. */
    ended: async () => (await fetch(`${control}/ended`)).json(),
    /** The provider says that somebody has signed out there. */
    signOut: async (person) => {
      const response = await fetch(`${control}/sign-out?subject=${person.subject}`, { method: 'POST' })
      assert.equal(response.status, 200, await response.text())
    },
  }
  before(async () => {
    Object.assign(on, await (await fetch(control)).json())
    on.browser = await launch()
  })
  after(() => on.browser?.close())
  on.test = (name, run) => test(name, { timeout: 4 * patience }, async () => {
    const open = []
    const visitor = async (person, options = {}) => {
      const one = await Visitor.enter(on, person, options)
      open.push(one)
      return one
    }
    try {
      await run({ ...on, visitor })
      for (const one of open) assert.deepEqual(one.troubles, [], 'what the pages did wrong')
    } catch (error) {
      for (const [i, one] of open.entries()) await one.picture(`${name}-${i + 1}`)
      throw error
    } finally {
      for (const one of open) await one.context.close()
    }
  })
  return on
}

/** Somebody at a browser of their own. */
export class Visitor {
  troubles = []

  static async enter(on, person, options) {
    const visitor = new Visitor()
    visitor.url = on.url
    visitor.person = person
    visitor.context = await on.browser.newContext({ baseURL: on.url, viewport: { width: 1280, height: 800 }, ...options })
    visitor.context.setDefaultTimeout(patience)
    visitor.context.on('weberror', (error) => visitor.troubles.push(`${error.error().stack}`))
    visitor.context.on('console', (message) => {
      if (/Content.Security.Policy|violates the following/i.test(message.text())) visitor.troubles.push(message.text())
    })
    visitor.page = await visitor.context.newPage()
    return visitor
  }

  /** Types name and password at the provider's page, which is open or about to be. */
  async type(page = this.page, person = this.person) {
    await page.getByLabel('Username').fill(person.name)
    await page.getByLabel('Password').fill(person.password)
    await page.getByRole('button', { name: 'Login' }).click()
    await page.waitForURL((url) => url.origin === this.url)
  }

  /** Opens an address of the edge, logs in, and is there. */
  async login(address = '/', page = this.page) {
    await page.goto(address)
    await this.type(page)
    assert.equal(new URL(page.url()).pathname, address)
    return this.at(page)
  }

  /** Which web UI the page is of, and as whom it is shown. */
  async at(page = this.page) {
    return { slot: await page.locator('#slot').textContent(), key: await page.locator('#key').textContent() }
  }

  /** Opens a session and says something in it; gives the session's address. */
  async talk(text, page = this.page) {
    await page.getByRole('button', { name: 'New session' }).click()
    await page.waitForURL(/\/session\/./)
    await page.getByRole('textbox', { name: 'Message' }).fill(text)
    await page.getByRole('button', { name: 'Send' }).click()
    await page.getByText(`assistant: You said: ${text}`).waitFor()
    return new URL(page.url()).pathname
  }

  async cookies() {
    return this.context.cookies(this.url)
  }

  async picture(name) {
    mkdirSync(pictures, { recursive: true })
    for (const [i, page] of this.context.pages().entries()) {
      await page.screenshot({ path: path.join(pictures, `edge-${name.replace(/\W+/g, '-').slice(0, 80)}-${i + 1}.png`), timeout: 10_000 }).catch(() => {})
    }
  }
}

export const banner = (page) => page.locator('[data-mooring-continuity=banner]')
export const messages = (page) => page.locator('#messages')
export const sessions = (page) => page.getByRole('navigation', { name: 'Sessions' })
