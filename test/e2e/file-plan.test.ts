import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createWorkspaceTools } from '../../src/tools/workspace';
import { defineAgent } from '../../src/tools/define-agent';
import { scratchDirectory } from '../support/scratch';
import { readBack, scriptBook } from '../support/script-book';
import { decide, openOf, scheduledInputs, waitFor } from '../support/turns';
import { startBench, until, type TestBench, type TurnHandle } from '../support/worker';

const root = scratchDirectory();
const book = scriptBook();
let bench: TestBench;

/** Far enough apart that each change is a hunk of its own. */
const lines = (first: string, last: string): string =>
  [first, ...Array.from({ length: 20 }, (_, n) => `line ${n}`), last, ''].join('\n');

const file = (): string => join(root(), 'notes.txt');
const content = (): string => readFileSync(file(), 'utf8');

beforeEach(async () => {
  writeFileSync(file(), lines('first', 'last'));
  bench = await startBench({
    agents: [
      defineAgent({
        name: 'editor',
        instructions: 'do',
        model: book.model,
        tools: createWorkspaceTools({ root: root() }),
      }),
    ],
  });
});
afterEach(() => bench.stop());

/** A turn that proposes to change the first and the last line. */
const proposed = async (): Promise<TurnHandle> => {
  const args = { path: 'notes.txt', new_content: lines('FIRST', 'LAST') };
  const prompt = book.add({ toolCalls: [{ name: 'propose_file_edit', arguments: args }] }, readBack);
  const handle = await bench.start('editor', prompt);
  await waitFor(handle, '1.1');
  return handle;
};

test.each([
  ['1', lines('FIRST', 'last'), 'rejected this hunk, which was left out: 2'],
  ['2', lines('first', 'LAST'), 'rejected this hunk, which was left out: 1'],
])(
  'case 16: only hunk %s is accepted: the other is absent, and the model hears which and why',
  async (id, now, told) => {
    const handle = await proposed();
    await decide(handle, {
      callId: '1.1',
      decision: 'approved',
      hunks: [id],
      reason: 'half of it',
      approver: 'ann',
    });
    const { answer } = await handle.result();
    expect(content()).toBe(now);
    expect(answer).toContain(told);
    expect(answer).toContain('Reason: half of it');
  },
);

test('every hunk accepted: the file is what was proposed', async () => {
  const handle = await proposed();
  await decide(handle, { callId: '1.1', decision: 'approved' });
  expect((await handle.result()).counts).toMatchObject({ failed: 0 });
  expect(content()).toBe(lines('FIRST', 'LAST'));
});

test('no hunk accepted is a denial: nothing is written, the reason is told', async () => {
  const handle = await proposed();
  expect(await decide(handle, { callId: '1.1', decision: 'approved', hunks: ['3'] })).toMatchObject({
    code: 'malformed',
  });
  await decide(handle, {
    callId: '1.1',
    decision: 'approved',
    hunks: [],
    reason: 'leave it',
    approver: 'ann',
  });
  const { answer, counts } = await handle.result();
  expect(answer).toContain('ann denied this call: leave it. Nothing ran.');
  expect(counts).toMatchObject({ denied: 1 });
  expect(await scheduledInputs(handle, 'propose_file_edit')).toEqual([]);
  expect(content()).toBe(lines('first', 'last'));
});

test.each([
  ['all hunks', {}],
  ['one hunk', { hunks: ['1'] }],
])('case 16: the file changed since it was shown (%s): conflict, not a byte is written', async (_, extra) => {
  const handle = await proposed();
  const changed = lines('first', 'changed by somebody');
  writeFileSync(file(), changed);
  await decide(handle, { callId: '1.1', decision: 'approved', ...extra });
  expect((await handle.result()).answer).toContain('Error [conflict]');
  expect(content()).toBe(changed);
});

test('new content by a person is planned anew, on the file as it is then, and asks again', async () => {
  const handle = await proposed();
  writeFileSync(file(), lines('first', 'changed by somebody'));
  const args = { path: 'notes.txt', new_content: lines('First!', 'changed by somebody') };
  const verdict = await decide(handle, {
    callId: '1.1',
    decision: 'modified',
    arguments: args,
    approver: 'ann',
  });
  expect(verdict).toMatchObject({ accepted: true, asksAgain: true });
  await until('the new plan', async () => (await openOf(handle))?.items[0]?.summary.includes('First!'));
  expect(content()).toBe(lines('first', 'changed by somebody'));
  await decide(handle, { callId: '1.1', decision: 'approved', hunks: ['1'] });
  expect((await handle.result()).answer).toContain('changed the arguments of this call');
  expect(content()).toBe(lines('First!', 'changed by somebody'));
});

test('an edit to a path outside the root cannot be planned: a note, and the original still waits', async () => {
  const handle = await proposed();
  const args = { path: '../outside.txt', new_content: 'x' };
  await decide(handle, { callId: '1.1', decision: 'modified', arguments: args });
  await until('the note', async () =>
    (await openOf(handle))?.items[0]?.summary.includes('could not be planned'),
  );
  await decide(handle, { callId: '1.1', decision: 'approved' });
  await handle.result();
  expect(content()).toBe(lines('FIRST', 'LAST'));
});
