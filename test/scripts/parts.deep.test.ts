import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { z } from 'zod';
import { findChromium } from '../../scripts/browser.cjs';
import { packagedChromium, type Part } from '../../scripts/parts.cjs';
import { root } from '../support/build';

/** A file for each part that is looked for on PATH alone. */
const FILES: [Part, string][] = [
  ['bubblewrap', 'test/cli/doctor/sandbox.deep.test.ts'],
  ['ssh', 'test/authority/signatures/inbox-key.deep.test.ts'],
  ['terminal', 'test/cli/commands/chat.deep.test.ts'],
  ['openssl', 'test/notify/mail.deep.test.ts'],
  ['lisp', 'test/tools/lisp/index.deep.test.ts'],
  ['prometheus', 'test/deploy/prometheus.deep.test.ts'],
];

const Report = z.object({
  testResults: z.array(
    z.object({ name: z.string(), assertionResults: z.array(z.object({ status: z.string() })) }),
  ),
});

/** How often tests of a file ended in which way. */
let ends: Map<string, Record<string, number>>;

beforeAll(() => {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-parts-'));
  const file = join(folder, 'report.json');
  const jest = join(root, 'node_modules', 'jest', 'bin', 'jest.js');
  const files = FILES.map(([, name]) => name);
  spawnSync(process.execPath, [jest, '--json', `--outputFile=${file}`, '--runTestsByPath', ...files], {
    cwd: root,
    env: { ...process.env, PATH: '/nowhere', COUNTERSIGN_THOROUGH: '' },
    stdio: 'ignore',
  });
  const { testResults } = Report.parse(JSON.parse(readFileSync(file, 'utf8')));
  rmSync(folder, { recursive: true });
  ends = new Map(
    testResults.map(({ name, assertionResults }) => {
      const counts: Record<string, number> = {};
      for (const { status } of assertionResults) counts[status] = (counts[status] ?? 0) + 1;
      return [relative(root, name), counts];
    }),
  );
});

it.each(FILES)('without %s, tests that need it are left out, and none fails', (_part, file) => {
  const counts = ends.get(file);
  expect(counts?.['pending']).toBeGreaterThan(0);
  expect(counts?.['failed']).toBeUndefined();
});

it('without a Chromium of the system, the one that npm installed draws the pages', () => {
  const isPackaged = process.platform === 'linux' && process.arch === 'x64';
  expect(packagedChromium() !== undefined).toBe(isPackaged);
  expect(findChromium({ PATH: '/nowhere', COUNTERSIGN_CHROMIUM: '/opt/chrome' })?.program).toBe(
    '/opt/chrome',
  );
});
