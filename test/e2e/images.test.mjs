// Images: pasted and picked, sent to the model as data URLs, [screenshot] for everybody who reads text.
import assert from 'node:assert/strict'
import { answers, ask, composer, questions, sessionOf } from './helpers/chat.mjs'
import { images, paste, pixel } from './helpers/pictures.mjs'
import { stage } from './helpers/stage.mjs'

const on = stage()

async function wantSent({ page, server, model }, question) {
  await answers(page).filter({ hasText: `Answer 1 to: ${question}` }).waitFor()
  const [sent] = model.asked(question)
  const parts = sent.body.messages.at(-1).content
  assert.deepEqual(parts.filter((part) => part.type === 'image_url').map((part) => part.image_url.url), [`data:image/png;base64,${pixel}`])
  const session = await sessionOf(page, server)
  const [message] = await server.messages(session.id)
  assert.deepEqual(message.text.split('\n').toSorted(), ['[screenshot]', question].toSorted())
  await questions(page).getByRole('img').waitFor()
  await page.reload()
  const picture = questions(page).getByRole('img', { name: 'Picture in this message' })
  await picture.waitFor()
  assert.equal(await picture.evaluate((img) => img.decode().then(() => img.naturalWidth)), 1)
}

on.test('an image is pasted: the model gets it, the session API says [screenshot]', async (scene) => {
  const { page } = scene
  await page.goto('/')
  await composer(page).focus()
  await paste(page, 'image/png', 'shot.png')
  await images(page).getByRole('img', { name: 'shot.png' }).waitFor()
  await ask(page, 'What is pasted?')
  await images(page).waitFor({ state: 'detached' })
  await wantSent(scene, 'What is pasted?')
})

on.test('an image is picked: the same, and one can be taken out before', async (scene) => {
  const { page } = scene
  await page.goto('/')
  const choosing = page.waitForEvent('filechooser')
  await page.getByRole('button', { name: 'Add images' }).click()
  const chooser = await choosing
  const file = (name) => ({ name, mimeType: 'image/png', buffer: Buffer.from(pixel, 'base64') })
  await chooser.setFiles([file('one.png'), file('two.png')])
  await page.getByRole('button', { name: 'Remove two.png' }).click()
  await images(page).getByRole('img', { name: 'two.png' }).waitFor({ state: 'detached' })
  await ask(page, 'What is picked?')
  await wantSent(scene, 'What is picked?')
})

on.test('a file that is no image is refused in words', async ({ page }) => {
  await page.goto('/')
  const choosing = page.waitForEvent('filechooser')
  await page.getByRole('button', { name: 'Add images' }).click()
  await (await choosing).setFiles({ name: 'notes.svg', mimeType: 'image/svg+xml', buffer: Buffer.from('<svg/>') })
  await page.getByText('notes.svg is not an image that models read.').waitFor()
})
