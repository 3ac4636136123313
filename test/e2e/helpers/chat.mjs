// The chat page as its user sees it.
import assert from 'node:assert/strict'
import { eventually } from './stage.mjs'

export const composer = (page) => page.getByRole('textbox', { name: 'Message', exact: true })
export const questions = (page) => page.getByRole('article', { name: 'You', exact: true })
export const answers = (page) => page.getByRole('article', { name: 'Answer', exact: true })
export const stopButton = (page) => page.getByRole('button', { name: 'Stop (Esc)' })
export const chats = (page) => page.getByRole('complementary', { name: 'Chats' })

export async function ask(page, text) {
  await composer(page).fill(text)
  await composer(page).press('Enter')
}

/** Waits until the thread shows exactly these, each "You: …" or "Answer: …", and nothing is being written. */
export async function shows(page, ...texts) {
  await eventually(async () => {
    assert.deepEqual(await thread(page), texts)
    assert.equal(await page.locator('article[aria-busy=true]').count(), 0, 'answers being written')
  })
}

/** What the thread shows, without the buttons and figures around the texts. */
export const thread = (page) =>
  page.locator('article').evaluateAll((all) => all.map((one) => {
    const text = [...one.querySelectorAll('p, li, pre, h1, h2, h3, td')].map((part) => part.textContent.trim()).join(' ').trim()
    return `${one.getAttribute('aria-label')}: ${text}`
  }))

/** Asks and waits for the answer of the model that nobody holds. */
export async function chat(page, question, n = 1) {
  await ask(page, question)
  // The button comes with the stored answer, which takes the place of the one that came.
  await answers(page).filter({ hasText: `Answer ${n} to: ${question}` }).getByRole('button', { name: 'Another answer' }).waitFor()
}

/** The open chat's session, once it has an address. */
export async function sessionOf(page, server, options) {
  await page.waitForURL(/\/chat\/./)
  const name = new URL(page.url()).pathname.split('/')[2]
  return server.call(`/api/sessions/${name}`, options)
}

/** Opens a chat of the side list. */
export const openChat = (page, title) => chats(page).getByRole('link', { name: title }).first().click()
