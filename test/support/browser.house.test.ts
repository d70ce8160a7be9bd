import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findChromium } from './browser';

let directory: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'countersign-path-'));
  await writeFile(join(directory, 'chromium-browser'), '', { mode: 0o755 });
  await writeFile(join(directory, 'chromium'), 'no program', { mode: 0o644 });
});
afterAll(() => rm(directory, { recursive: true, force: true }));

it('takes the one that is named', () => {
  expect(findChromium({ COUNTERSIGN_CHROMIUM: '/opt/chrome', PATH: directory })).toBe('/opt/chrome');
});

it('takes a program on PATH, and no file that is none', () => {
  expect(findChromium({ COUNTERSIGN_CHROMIUM: '', PATH: `:/nowhere:${directory}` })).toBe(
    join(directory, 'chromium-browser'),
  );
});

it.each([{}, { PATH: '' }, { PATH: '/nowhere' }])('says what to install where there is none: %j', (env) => {
  expect(() => findChromium(env)).toThrow(/apt-get install chromium.*COUNTERSIGN_CHROMIUM/);
});
