import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { chromium, type Browser } from 'playwright-core';

/** The shell draws pages and nothing else: a tab of it costs a tenth of a whole browser's. */
const NAMES = [
  'chromium-headless-shell',
  'chromium',
  'chromium-browser',
  'google-chrome',
  'google-chrome-stable',
];

/** Starts the Chromium of `COUNTERSIGN_CHROMIUM` or of PATH; close it when done. */
export async function openBrowser(): Promise<Browser> {
  return chromium.launch({ executablePath: findChromium(), args: ['--no-sandbox'] });
}

/** The program of a Chromium. Errors: says what to install where there is none. */
export function findChromium(env: NodeJS.ProcessEnv = process.env): string {
  const named = env['COUNTERSIGN_CHROMIUM'];
  if (named !== undefined && named !== '') return named;
  const folders = (env['PATH'] ?? '').split(delimiter).filter((folder) => folder !== '');
  const found = NAMES.flatMap((name) => folders.map((folder) => join(folder, name))).find(isProgram);
  if (found !== undefined) return found;
  throw new Error(
    'The tests of the page need a Chromium: install one (apt-get install chromium), or name its program in COUNTERSIGN_CHROMIUM.',
  );
}

function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
