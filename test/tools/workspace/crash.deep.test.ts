import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createWorkspaceTools } from '../../../src/tools/workspace';
import { makeBox, takeInHand } from './support';

const SIZE = 300_000;
const KILLS = 12;

async function startWriter(root: string): Promise<ChildProcess> {
  const child = spawn(process.execPath, [join(__dirname, 'writer.cjs'), root, 'a.txt', String(SIZE)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  if (child.stdout !== null) await once(child.stdout, 'data');
  return child;
}

/** One letter, many times: a mixture or a part would show. */
function isWhole(content: Buffer): boolean {
  return content.length === SIZE && content.every((byte) => byte === content[0]);
}

it('a writer that is killed at any moment leaves the old file or the new one, whole', async () => {
  const box = makeBox({ 'a.txt': 'z'.repeat(SIZE) });
  for (let round = 0; round < KILLS; round++) {
    const child = await startWriter(box.root);
    await sleep((round * 7) % 40);
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
    expect(isWhole(box.read('a.txt'))).toBe(true);
  }
  const names = readdirSync(box.root).filter((name) => name !== 'a.txt');
  for (const name of names) {
    expect(name).toMatch(/^\.countersign-[0-9a-f]{24}\.tmp$/);
    expect(statSync(join(box.root, name)).mode & 0o077 & ~0o044).toBe(0);
  }
  const hands = takeInHand(createWorkspaceTools({ root: box.root }));
  expect(await hands.say('write_file', { path: 'a.txt', content: 'after\n' })).toContain('Wrote a.txt');
  expect(box.text('a.txt')).toBe('after\n');
});

it('a reader beside a writer never sees a part', async () => {
  const box = makeBox({ 'a.txt': 'z'.repeat(SIZE) });
  const hands = takeInHand(createWorkspaceTools({ root: box.root }));
  const child = await startWriter(box.root);
  try {
    for (let turn = 0; turn < 200; turn++) {
      const content = await hands.run('read_file', { path: 'a.txt' });
      expect(isWhole(Buffer.from(String(content)))).toBe(true);
    }
  } finally {
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
  }
});
