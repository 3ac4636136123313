// Signing in as a person does.
export const keyField = (page) => page.getByLabel('Key', { exact: true })

/** Asks for a page and gives the key that it wants first. */
export async function signIn(page, key, address = '/') {
  await page.goto(address)
  await page.waitForURL(/\/sign-in/)
  await keyField(page).fill(key)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.waitForURL((url) => url.pathname !== '/sign-in')
}
