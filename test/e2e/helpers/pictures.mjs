// Pictures for a message, as a person adds them.
import { composer } from './chat.mjs'

// One red pixel.
export const pixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=='
export const images = (page) => page.getByRole('list', { name: 'Images to send' })

/** Pastes a file as the clipboard of a system would. */
export const paste = (page, type, name) =>
  composer(page).evaluate((field, { base64, type, name }) => {
    const clipboardData = new DataTransfer()
    clipboardData.items.add(new File([Uint8Array.from(atob(base64), (c) => c.charCodeAt(0))], name, { type }))
    field.dispatchEvent(new ClipboardEvent('paste', { clipboardData, bubbles: true, cancelable: true }))
  }, { base64: pixel, type, name })
