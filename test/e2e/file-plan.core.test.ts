import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createWorkspaceTools } from '../../src/tools/workspace';
import { defineAgent } from '../../src/tools/define-agent';
import { startFixture, type Fixture, type TurnHandle } from '../support/fixture';
import { scratchDirectory } from '../support/scratch';
import { readBack, scriptBook } from '../support/script-book';
import { decide, newPlan, openOf, scheduledInputs, seenOf, waitFor } from '../support/turns';
import { until } from '../support/until';

const root = scratchDirectory();
const book = scriptBook();
let fixture: Fixture;

/** Far enough apart that each change is a hunk of its own. */
const lines = (first: string, last: string): string =>
  [first, ...Array.from({ length: 20 }, (_, n) => `line ${n}`), last, ''].join('\n');

const file = (): string => join(root(), 'notes.txt');
const content = (): string => readFileSync(file(), 'utf8');

beforeEach(async () => {
  writeFileSync(file(), lines('first', 'last'));
  fixture = await startFixture({
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
afterEach(() => fixture.stop());

const PROPOSAL = { path: 'notes.txt', new_content: lines('FIRST', 'LAST') };

/** A turn that proposes to change the first and the last line. */
const proposed = async (): Promise<TurnHandle> => {
  const prompt = book.add({ toolCalls: [{ name: 'propose_file_edit', arguments: PROPOSAL }] }, readBack);
  const handle = await fixture.start('editor', prompt);
  await waitFor(handle, '1.1');
  return handle;
};

test.each([
  ['1', lines('FIRST', 'last'), 'rejected this hunk, which was left out: 2'],
  ['2', lines('first', 'LAST'), 'rejected this hunk, which was left out: 1'],
])(
  'only hunk %s is accepted: the other is absent, and the model hears which and why',
  async (id, now, told) => {
    const handle = await proposed();
    await decide(handle, {
      callId: '1.1',
      decision: 'approved',
      hunks: [id],
      ...(await seenOf(handle)),
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

test('no hunk accepted is a denial: nothing is written, the reason is shown', async () => {
  const handle = await proposed();
  expect(
    await decide(handle, { callId: '1.1', decision: 'approved', hunks: ['3'], ...(await seenOf(handle)) }),
  ).toMatchObject({
    code: 'malformed',
  });
  await decide(handle, {
    callId: '1.1',
    decision: 'approved',
    hunks: [],
    ...(await seenOf(handle)),
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
])('the file changed since it was shown (%s): conflict, not a byte is written', async (_, extra) => {
  const handle = await proposed();
  const changed = lines('first', 'changed by somebody');
  writeFileSync(file(), changed);
  await decide(handle, { callId: '1.1', decision: 'approved', ...(await seenOf(handle)), ...extra });
  expect((await handle.result()).answer).toContain('Error [conflict]');
  expect(content()).toBe(changed);
});

test('new content by a person is planned anew, on the file as it is then, and asks again', async () => {
  const handle = await proposed();
  const before = await seenOf(handle);
  writeFileSync(file(), lines('first', 'changed by somebody'));
  const args = { path: 'notes.txt', new_content: lines('First!', 'changed by somebody') };
  const verdict = await decide(handle, {
    callId: '1.1',
    decision: 'modified',
    arguments: args,
    approver: 'ann',
  });
  expect(verdict).toMatchObject({ accepted: true, asksAgain: true });
  await newPlan(handle, before);
  expect(content()).toBe(lines('first', 'changed by somebody'));
  await decide(handle, { callId: '1.1', decision: 'approved', hunks: ['1'], ...(await seenOf(handle)) });
  expect((await handle.result()).answer).toContain('changed the arguments of this call');
  expect(content()).toBe(lines('First!', 'changed by somebody'));
});

test('the same arguments again on a changed file: the plan is another one, so the look before is stale', async () => {
  const handle = await proposed();
  const ann = await seenOf(handle);
  writeFileSync(file(), lines('somebody was first', 'last'));
  const same = { callId: '1.1', decision: 'modified', arguments: PROPOSAL, approver: 'bob' } as const;
  expect(await decide(handle, same)).toMatchObject({ accepted: true, asksAgain: true });
  await newPlan(handle, ann);
  for (const more of [{}, { hunks: ['1'] }]) {
    const late = { callId: '1.1', decision: 'approved', approver: 'ann', ...ann, ...more } as const;
    expect(await decide(handle, late)).toMatchObject({ accepted: false, code: 'stale_args' });
  }
  expect(content()).toBe(lines('somebody was first', 'last'));
  await decide(handle, { callId: '1.1', decision: 'denied' });
  await handle.result();
});

test('an edit to a path outside the root cannot be planned: a note, and the original still waits', async () => {
  const handle = await proposed();
  const args = { path: '../outside.txt', new_content: 'x' };
  await decide(handle, { callId: '1.1', decision: 'modified', arguments: args });
  await until('the note', async () =>
    (await openOf(handle))?.items[0]?.summary.includes('could not be previewed'),
  );
  await decide(handle, { callId: '1.1', decision: 'approved' });
  await handle.result();
  expect(content()).toBe(lines('FIRST', 'LAST'));
});
