import { chromium, type Browser } from 'playwright-core';
import { findChromium } from '../../scripts/browser.cjs';
import { installCommand } from '../../scripts/parts.cjs';
import { needs } from './parts';

needs('chromium');

/** Starts the Chromium of `COUNTERSIGN_CHROMIUM` or of PATH, or the one that npm installed; close it when done. */
export async function openBrowser(): Promise<Browser> {
  const found = findChromium();
  if (found === undefined)
    throw new Error(
      `There is no Chromium: ${installCommand(['chromium'])}, or name its program in COUNTERSIGN_CHROMIUM.`,
    );
  return chromium.launch({ executablePath: found.program, env: { ...found.env }, args: ['--no-sandbox'] });
}
