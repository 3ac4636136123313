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

// Parts of the browser's own window that are pages themselves: with them each profile costs five times the work of what is tested here.
const window = ['WebUIOmniboxPopup', 'WebUIOmniboxAimPopup', 'WebUIOmniboxFullPopup', 'SpareRendererForSitePerProcess']

// Of two such lists the browser heeds the last, so this names again what Playwright's has against trouble with plain HTTP and tests.
const off = [
  'AvoidUnnecessaryBeforeUnloadCheckSync', 'DestroyProfileOnBrowserClose', 'HttpsUpgrades', 'HttpsFirstBalancedModeAutoEnable', 'LensOverlay',
  'MediaRouter', 'PaintHolding', 'ThirdPartyStoragePartitioning', 'AvoidCorsURLLoaderRestartOnRedirect', 'OptimizationHints',
  'NetworkTimeServiceQuerying', 'AimEnabled', 'PreconnectToSearch',
]

// Without --no-sandbox it does not start as root, as in a container; it sees pages of this machine alone.
const args = [
  '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync',
  `--disable-features=${[...off, ...window].join(',')}`,
]

export const options = () => ({ executablePath: find(), headless: true, args, timeout: 60_000 })

export const launch = () => (process.env.BROWSER ? chromium.connect(process.env.BROWSER, { timeout: 60_000 }) : chromium.launch(options()))
