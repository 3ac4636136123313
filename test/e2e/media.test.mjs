// On paper, with the system's own colours, and without motion.
import assert from 'node:assert/strict'
import { answers, ask, composer } from './helpers/chat.mjs'
import { stage } from './helpers/stage.mjs'

let session
const on = stage({
  prepare: async ({ server }) => {
    const before = Array.from({ length: 120 }, (_, i) => ({ role: i % 2 === 0 ? 'user' : 'assistant', content: `Said ${i}` }))
    session = (await server.turn('The last question', { session: 'long-1', before })).id
  },
})

on.test('paper: a chat without what is pressed, and it says that it begins in the midst', async ({ page }) => {
  await page.goto(`/chat/${session}`)
  await answers(page).last().getByText('Answer 1 to: The last question').waitFor()
  const note = page.getByText(/^These are the last \d+ messages\./)
  assert.equal(await note.isVisible(), false, 'on the screen too')
  await page.emulateMedia({ media: 'print' })
  await note.waitFor()
  assert.equal(await answers(page).last().isVisible(), true)
  assert.equal(await page.getByText('Said 119').isVisible(), true)
  const left = await page.evaluate(() => [...document.querySelectorAll('button, nav, aside, form, [href="#main"], [data-tip], .animate-spin')].filter((one) => one.checkVisibility()).map((one) => one.outerHTML.slice(0, 120)))
  assert.deepEqual(left, [])
  const { clipped, icons } = await page.evaluate(() => ({
    clipped: document.getElementById('root').scrollHeight - innerHeight,
    icons: [...document.querySelectorAll('#root svg')].filter((one) => one.checkVisibility() && one.getBoundingClientRect().width > 0).map((one) => one.outerHTML.slice(0, 120)),
  }))
  assert.ok(clipped > 1000, `the paper is ${clipped} px longer than the window`)
  assert.deepEqual(icons, [])
})

on.test('paper: turns, the headings of a table and the sessions in sight are there', async ({ page }) => {
  await page.goto(`/sessions/${session}`)
  const turn = page.getByRole('tabpanel').getByRole('listitem').getByText('Completed').first()
  await turn.waitFor()
  await page.emulateMedia({ media: 'print' })
  assert.equal(await turn.isVisible(), true)
  assert.equal(await page.getByRole('button', { name: 'Export' }).isVisible(), false)
  await page.emulateMedia({ media: 'screen' })
  await page.goto('/usage')
  await page.getByRole('columnheader', { name: 'Cost' }).waitFor()
  await page.emulateMedia({ media: 'print' })
  assert.equal(await page.getByRole('columnheader', { name: 'Cost' }).getByText('Cost').isVisible(), true)
  await page.emulateMedia({ media: 'screen' })
  await page.goto('/sessions')
  const row = page.getByRole('row').nth(1)
  await row.waitFor()
  await page.emulateMedia({ media: 'print' })
  assert.equal(await row.isVisible(), true)
})

on.test('the system’s colours: the button that sends looks so, and looks otherwise while there is nothing to send', async ({ page }) => {
  await page.goto('/')
  const send = page.getByRole('button', { name: 'Send' })
  await composer(page).waitFor()
  /** Its text's colour, its ground's, how much of it is seen, its edge. */
  const wantLook = async (...want) => assert.deepEqual(await send.evaluate((button, [ink, ground]) => {
    const of = (color) => {
      const probe = document.createElement('span')
      probe.style.forcedColorAdjust = 'none'
      probe.style.color = color
      document.body.append(probe)
      const shown = getComputedStyle(probe).color
      probe.remove()
      return shown
    }
    const { color, backgroundColor, opacity, borderTopStyle } = getComputedStyle(button)
    const wanted = (shown, name) => (of(name) === shown ? name : shown)
    return [wanted(color, ink), wanted(backgroundColor, ground), opacity, borderTopStyle]
  }, want), want)
  await wantLook('GrayText', 'ButtonFace', '1', 'solid')
  await composer(page).fill('Something')
  await wantLook('HighlightText', 'Highlight', '1', 'solid')
  await ask(page, 'Something')
  await answers(page).filter({ hasText: 'Answer 1 to: Something' }).waitFor()
}, { forcedColors: 'active' })

on.test('without motion: nothing slides, the way to the end is one step', async ({ page }) => {
  await page.goto(`/chat/${session}`)
  await answers(page).last().waitFor()
  await page.getByText('Said 100').scrollIntoViewIfNeeded()
  const left = await page.getByRole('button', { name: 'Jump to the latest' }).evaluate((button) => {
    button.click()
    const box = button.parentElement.querySelector('div')
    return box.scrollHeight - box.scrollTop - box.clientHeight
  })
  assert.ok(left < 4, `${left} px are left`)
  await page.keyboard.press('?')
  const moving = await page.evaluate(() => document.getAnimations().filter((one) => one.effect.getComputedTiming().duration > 20).map((one) => one.animationName))
  assert.deepEqual(moving, [])
})
