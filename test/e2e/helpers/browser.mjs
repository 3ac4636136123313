// Chromium: the one that run.mjs has started for all files, or one of this file's own where it runs alone.
import { existsSync } from 'node:fs'
import { chromium } from 'playwright-core'

const names = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable']

function find() {
  if (process.env.CHROMIUM) return process.env.CHROMIUM
  for (const dir of process.env.PATH.split(':')) {
    const found = names.map((name) => `${dir}/${name}`).find(existsSync)
    if (found) return found
  }
  throw new Error('no Chromium here: run scripts/setup-test.sh')
}

// Without --no-sandbox it does not start as root, as in a container; it sees pages of this machine alone.
const args = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync']

export const options = () => ({ executablePath: find(), headless: true, args, timeout: 60_000 })

export const launch = () => (process.env.BROWSER ? chromium.connect(process.env.BROWSER, { timeout: 60_000 }) : chromium.launch(options()))
