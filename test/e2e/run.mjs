// Runs the files of tests beside one browser. Arguments go to `node --test`.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { chromium } from 'playwright-core'
import { options } from './helpers/browser.mjs'

const chosen = process.argv.slice(2).filter((one) => one.endsWith('.mjs'))
const files = chosen.length > 0 ? chosen : readdirSync(import.meta.dirname).filter((name) => name.endsWith('.test.mjs'))
const rest = process.argv.slice(2).filter((one) => !one.endsWith('.mjs'))
const browser = await chromium.launchServer(options())
const tests = spawn(process.execPath, ['--test', '--test-reporter=spec', '--test-concurrency=3', ...rest, ...files], {
  cwd: import.meta.dirname, stdio: 'inherit', env: { ...process.env, BROWSER: browser.wsEndpoint() },
})
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => tests.kill(signal))
const [code] = await once(tests, 'exit')
await browser.close()
process.exitCode = code ?? 1
