// What each file of tests stands on: a server, a model behind it, and for each test a browser profile of its own.
import assert from 'node:assert/strict'
import { mkdirSync } from 'node:fs'
import path from 'node:path'
import { after, before, test } from 'node:test'
import { launch } from './browser.mjs'
import { Model } from './model.mjs'
import { patience } from './patience.mjs'
import { Mooring } from './server.mjs'

const out = path.resolve(import.meta.dirname, '../out')

export { patience }

/** Tries until it does not throw. */
export async function eventually(check, within = patience) {
  const end = Date.now() + within
  for (;;) {
    try {
      return await check()
    } catch (error) {
      if (Date.now() > end) throw error
    }
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

export const upstream = (model, more = {}) => ({ name: 'fake', url: model.url, protocol: 'both', key: 'none', models: ['*'], ...more })

/**
 * A stage; `config` gives what the configuration has beside the model server, `ready` waits for what the server needs, `prepare` does what
 * comes before all tests.
 */
export function stage({ config = () => ({}), ready = () => {}, prepare = () => {} } = {}) {
  const on = { config: (more = {}) => ({ upstreams: [upstream(on.model)], ...config(), ...more }) }
  before(async () => {
    await ready()
    on.model = await Model.start()
    on.server = await Mooring.start(on.config())
    on.browser = await launch()
    await prepare(on)
  })
  after(async () => {
    await on.browser?.close()
    await on.server?.stop()
    await on.model?.stop()
  })
  /** A test in a profile of its own. What the pages did wrong by themselves fails it too: errors, and breaches of their own policy. */
  on.test = (name, run, options = {}) => test(name, { timeout: 8 * patience }, async () => {
    const profile = await Profile.open(on, options)
    try {
      await run({ ...on, profile, context: profile.context, page: await profile.page() })
      assert.deepEqual(profile.troubles, [], 'what the pages did wrong')
    } catch (error) {
      await profile.picture(name)
      error.stack += `\n${profile.seen()}`
      throw error
    } finally {
      await profile.context.close()
    }
  })
  return on
}

class Profile {
  troubles = []

  static async open({ browser, server }, options) {
    const profile = new Profile()
    const context = await browser.newContext({ baseURL: server.url, reducedMotion: 'reduce', viewport: { width: 1280, height: 800 }, ...options })
    context.setDefaultTimeout(patience)
    profile.context = context
    await context.exposeBinding('violated', (_, what) => profile.troubles.push(what))
    await context.addInitScript(() => {
      addEventListener('securitypolicyviolation', (event) => window.violated(`policy: ${event.effectiveDirective} ${event.blockedURI} ${event.sample}`))
    })
    context.on('weberror', (error) => profile.troubles.push(`error: ${error.error().stack}`))
    context.on('dialog', (dialog) => {
      profile.troubles.push(`dialog: ${dialog.message()}`)
      void dialog.dismiss()
    })
    context.on('console', (message) => {
      if (/Content.Security.Policy|violates the following/i.test(message.text())) profile.troubles.push(`console: ${message.text()}`)
    })
    return profile
  }

  /** Another page. The first one stays in front: what is behind is drawn once a second, and a press waits for that. */
  async page() {
    const page = await this.context.newPage()
    await this.context.pages()[0].bringToFront()
    return page
  }

  seen() {
    return this.context.pages().map((page) => `page at ${page.url()}`).concat(this.troubles).join('\n')
  }

  async picture(name) {
    mkdirSync(out, { recursive: true })
    for (const [i, page] of this.context.pages().entries()) {
      const file = path.join(out, `${name.replace(/\W+/g, '-').slice(0, 80)}-${i + 1}.png`)
      await page.screenshot({ path: file, timeout: 10_000 }).catch(() => {})
    }
  }
}
