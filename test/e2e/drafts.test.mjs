// What was typed and has not reached the server is there still when the page was loaded anew, and is sent once.
import assert from 'node:assert/strict'
import { answers, ask, chat, composer, questions, sessionOf, shows } from './helpers/chat.mjs'
import { images, paste } from './helpers/pictures.mjs'
import { eventually, stage } from './helpers/stage.mjs'

const on = stage()
const sends = '**/api/send-stream'
const holds = (page, text) => eventually(async () => assert.equal(await composer(page).inputValue(), text))

on.test('a draft stays with its chat, over another chat and over a reload', async ({ page, server }) => {
  await page.goto('/')
  await chat(page, 'Has a draft')
  const { id } = await sessionOf(page, server)
  await composer(page).fill('half a sentence\nand a line')
  await page.goto('/')
  await holds(page, '')
  await composer(page).fill('for a new chat')
  await page.goto(`/chat/${id}`)
  await holds(page, 'half a sentence\nand a line')
  await page.goto('/')
  await holds(page, 'for a new chat')
  await ask(page, 'Sent now')
  await answers(page).filter({ hasText: 'Answer 1 to: Sent now' }).waitFor()
  await page.goto('/')
  await holds(page, '')
})

on.test('what is typed while a chat gets its address goes along', async ({ page }) => {
  await page.goto('/')
  let release
  const free = new Promise((resolve) => { release = resolve })
  await page.route(/\/api\/sessions\/ses_[^/]+$/, (route) => free.then(() => route.continue()))
  await ask(page, 'Gets its address')
  await answers(page).filter({ hasText: 'Answer 1 to: Gets its address' }).waitFor()
  await composer(page).fill('typed meanwhile')
  release()
  await page.waitForURL(/\/chat\/./)
  await holds(page, 'typed meanwhile')
  await page.goto('/')
  await holds(page, '')
})

on.test('a question that waits survives a reload, in a chat and in one that is yet to begin, and is sent once', async ({ page, server, model }) => {
  for (const [text, before] of [['Waits to begin', null], ['Waits in its chat', 'There is a chat']]) {
    await page.goto('/')
    if (before) await chat(page, before)
    await page.route(sends, (route) => route.abort())
    await ask(page, text)
    await page.getByText('Not sent yet: Mooring cannot be reached.').waitFor()
    await page.reload()
    await questions(page).filter({ hasText: text }).waitFor()
    await page.getByText('Not sent yet: Mooring cannot be reached.').waitFor()
    assert.equal(await composer(page).inputValue(), '', 'it is in the field too')
    assert.equal(model.asked(text).length, 0)
    await page.unroute(sends)
    await shows(page, ...(before ? [`You: ${before}`, `Answer: Answer 1 to: ${before}`] : []), `You: ${text}`, `Answer: Answer 1 to: ${text}`)
    const session = await sessionOf(page, server)
    assert.equal(session.turns, before ? 2 : 1)
    await page.reload()
    await questions(page).filter({ hasText: text }).waitFor()
    assert.equal(model.asked(text).length, 1)
    assert.equal(await page.evaluate(() => sessionStorage.getItem('mooring.outbox')), null)
  }
})

on.test('a question taken back or answered is not sent again by a reload', async ({ page, model }) => {
  await page.goto('/')
  await chat(page, 'Before it')
  await page.route(sends, (route) => route.abort())
  await ask(page, 'Taken back, then loaded')
  await page.getByRole('button', { name: 'Take it back' }).click()
  await page.unroute(sends)
  await page.reload()
  await shows(page, 'You: Before it', 'Answer: Answer 1 to: Before it')
  assert.equal(model.asked('Taken back, then loaded').length, 0)
})

on.test('a question that was refused is in the field again', async ({ page }) => {
  await page.goto('/')
  await page.route(sends, (route) => route.fulfill({ status: 503, contentType: 'application/json', body: '{"error":{"message":"Not now, please.","code":"upstream_unavailable"}}' }))
  await ask(page, 'Refused at first')
  await page.getByText('Not now, please.').waitFor()
  await page.unroute(sends)
  await page.reload()
  await holds(page, 'Refused at first')
  await composer(page).press('Enter')
  await answers(page).filter({ hasText: 'Answer 1 to: Refused at first' }).waitFor()
})

on.test('pictures that were not sent are not kept, which is said; nothing goes out without them', async ({ page, model }) => {
  await page.goto('/')
  await paste(page, 'image/png', 'shot.png')
  await images(page).getByRole('img', { name: 'shot.png' }).waitFor()
  await composer(page).fill('See the picture')
  await page.reload()
  await page.getByText('shot.png was not sent').waitFor()
  await holds(page, 'See the picture')
  await paste(page, 'image/png', 'again.png')
  await page.getByText('shot.png was not sent').waitFor({ state: 'detached' })

  await page.route(sends, (route) => route.abort())
  await composer(page).press('Enter')
  await page.getByText('Not sent yet: Mooring cannot be reached.').waitFor()
  await page.reload()
  await page.unroute(sends)
  await page.getByText('again.png was not sent').waitFor()
  await holds(page, 'See the picture')
  assert.equal(model.asked('See the picture').length, 0)
  await page.getByRole('button', { name: 'Leave them out' }).click()
  await page.getByText('again.png was not sent').waitFor({ state: 'detached' })
  await page.reload()
  await holds(page, 'See the picture')
  assert.equal(await page.getByText('was not sent').count(), 0)
})
