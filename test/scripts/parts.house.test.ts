import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromiumOfSystem, installCommand, missingParts } from '../../scripts/parts.cjs';

describe('the Chromium of the system', () => {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-path-'));
  writeFileSync(join(folder, 'chromium-browser'), '', { mode: 0o755 });
  writeFileSync(join(folder, 'chromium'), 'no program', { mode: 0o644 });

  it.each<[string, NodeJS.ProcessEnv, string | undefined]>([
    ['the one that is named', { COUNTERSIGN_CHROMIUM: '/opt/chrome', PATH: folder }, '/opt/chrome'],
    [
      'a program on PATH, and no file that is none',
      { COUNTERSIGN_CHROMIUM: '', PATH: `:/nowhere:${folder}` },
      join(folder, 'chromium-browser'),
    ],
    ['none without PATH', {}, undefined],
    ['none where PATH has none', { PATH: '/nowhere' }, undefined],
  ])('is %s', (_name, env, expected) => {
    expect(chromiumOfSystem(env)).toBe(expected);
  });
});

it('names what is missing, and the command that installs it', () => {
  const missing = missingParts({ PATH: '/nowhere' });
  expect(missing).toEqual(expect.arrayContaining(['bubblewrap', 'ssh', 'lisp']));
  expect(installCommand(missing)).toMatch(/apt-get install .*bubblewrap util-linux openssh-client/);
});
