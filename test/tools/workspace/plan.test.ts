import fc from 'fast-check';
import { existsSync, linkSync } from 'node:fs';
import { join } from 'node:path';
import type { FilePlan } from '../../../src/contract/plan';
import { createWorkspaceTools } from '../../../src/tools/workspace';
import { executePlan, planFile } from '../../../src/tools/workspace/plan';
import { decodeText, encodeText } from '../../../src/tools/workspace/text';
import { createRoot } from '../../../src/tools/workspace/root';
import { makeBox, takeInHand } from './support';
import { runs } from '../../support/properties';

const lines = (count: number, change: (line: string, index: number) => string = (line) => line): string =>
  Array.from({ length: count }, (_, index) => change(`line ${index + 1}\n`, index + 1)).join('');

const BASE = lines(40);
const TARGET = lines(40, (line, index) => ([2, 20, 39].includes(index) ? `new ${line}` : line));
const ONLY = (...kept: number[]): string =>
  lines(40, (line, index) => (kept.includes(index) ? `new ${line}` : line));

function proposal(content = BASE) {
  const box = makeBox({ 'a.txt': content });
  const hands = takeInHand(createWorkspaceTools({ root: box.root }));
  const args = { path: 'a.txt', new_content: TARGET };
  const run = async (plan: FilePlan, hunks?: string[]) =>
    hands.say('propose_file_edit', args, { plan, ...(hunks === undefined ? {} : { hunks }) });
  return { box, hands, run, plan: () => hands.plan('propose_file_edit', args) };
}

describe('an approved plan', () => {
  it('is written as it was shown', async () => {
    const { box, run, plan } = proposal();
    const made = await plan();
    expect(made).toMatchObject({
      path: 'a.txt',
      encoding: 'utf8',
      hunks: [{ id: '1' }, { id: '2' }, { id: '3' }],
    });
    expect(box.text('a.txt')).toBe(BASE);
    expect(await run(made)).toBe(`Wrote a.txt (${TARGET.length} bytes).`);
    expect(box.text('a.txt')).toBe(TARGET);
  });

  it.each([
    [['1'], ONLY(2), '2 (at line 17 of the old file), 3 (at line 36 of the old file)'],
    [['2'], ONLY(20), '1 (at line 1 of the old file), 3 (at line 36 of the old file)'],
    [['3', '1'], ONLY(2, 39), '2 (at line 17 of the old file)'],
  ])('is written in part: %j', async (hunks, content, rejected) => {
    const { box, run, plan } = proposal();
    const said = await run(await plan(), hunks);
    expect(box.text('a.txt')).toBe(content);
    expect(said).toContain(rejected);
    expect(said).toContain('Do not propose that part again.');
  });

  it('of which every hunk is rejected writes nothing and tells the model to stop', async () => {
    const { box, run, plan } = proposal();
    expect(await run(await plan(), [])).toMatch(/^Nothing was written to a.txt: .*Stop/);
    expect(box.text('a.txt')).toBe(BASE);
  });

  it.each([
    [false, 'Nothing was written.'],
    [true, 'This attempt wrote nothing; an earlier one may have.'],
  ])(
    'that does not fit any more, an earlier attempt may have run: %j. It says: %s',
    async (ranBefore, said) => {
      const { box, run, plan } = proposal();
      const made = await plan();
      await run(made);
      box.write('a.txt', `${box.text('a.txt')}more\n`);
      const root = createRoot(box.root);
      await expect(executePlan(root, made, { ranBefore })).rejects.toMatchObject({
        code: 'conflict',
        message: `Conflict at "a.txt": the file changed since this was proposed. ${said} Read the file and propose anew.`,
      });
    },
  );

  it.each([[undefined], [['1']], [['2']], [['1', '3']], [['1', '2', '3']]])(
    'that an earlier attempt has written is not written again: hunks %j',
    async (hunks) => {
      const { box, run, plan } = proposal();
      const made = await plan();
      await run(made, hunks);
      const content = box.text('a.txt');
      expect(await run(made, hunks)).toContain('already is as approved');
      expect(box.text('a.txt')).toBe(content);
    },
  );

  it.each([
    ['changed elsewhere', BASE.replace('line 30\n', 'other\n'), undefined],
    ['changed elsewhere, a part chosen', BASE.replace('line 30\n', 'other\n'), ['1']],
    ['written with another part', ONLY(20), ['1']],
    ['written in part, all chosen', ONLY(20), undefined],
    ['emptied', '', undefined],
    ['of other line ends', BASE.replaceAll('\n', '\r\n'), ['1']],
    ['no UTF-8 any more', Buffer.concat([Buffer.from(BASE), Buffer.from([0xff])]), undefined],
  ])('is a conflict with a file that was %s; nothing is written', async (_, content, hunks) => {
    const { box, run, plan } = proposal();
    const made = await plan();
    box.write('a.txt', content);
    expect(await run(made, hunks)).toMatch(/^conflict: Conflict at "a.txt": the file changed/);
    expect(box.read('a.txt')).toEqual(Buffer.from(content));
  });

  it('is a conflict with a file that is gone, and a new file with one that came', async () => {
    const { box, hands, run, plan } = proposal();
    const made = await plan();
    await hands.run('delete_file', { path: 'a.txt' });
    expect(await run(made)).toMatch(/^conflict: /);
    expect(existsSync(join(box.root, 'a.txt'))).toBe(false);
    const fresh = await hands.plan('create_file', { path: 'b/c.txt', content: 'mine\n' });
    box.write('b/c.txt', 'theirs\n');
    expect(await hands.say('create_file', { path: 'b/c.txt', content: 'mine\n' }, { plan: fresh })).toMatch(
      /^conflict: /,
    );
    expect(box.text('b/c.txt')).toBe('theirs\n');
  });

  it.each([
    ['another file', (plan: FilePlan) => ({ ...plan, path: 'b.txt' }), undefined],
    ['another target', (plan: FilePlan) => ({ ...plan, targetHash: '0'.repeat(64) }), undefined],
    ['hunks out of order', (plan: FilePlan) => ({ ...plan, hunks: [...plan.hunks].reverse() }), undefined],
    [
      'lines that the file does not have',
      (plan: FilePlan) => ({
        ...plan,
        hunks: plan.hunks.map((hunk) => ({ ...hunk, oldStart: hunk.oldStart + 1 })),
      }),
      ['1'],
    ],
    ['a hunk that does not exist', (plan: FilePlan) => plan, ['1', '9']],
  ])('with %s is refused', async (_, spoil, hunks) => {
    const { box, run, plan } = proposal();
    box.write('b.txt', BASE);
    expect(await run(spoil(await plan()), hunks)).toMatch(/^conflict: /);
    expect([box.text('a.txt'), box.text('b.txt')]).toEqual([BASE, BASE]);
  });

  it('without a plan is planned and written at once', async () => {
    const { box, hands } = proposal();
    expect(await hands.run('propose_file_edit', { path: 'a.txt', new_content: TARGET })).toContain(
      'Wrote a.txt',
    );
    expect(box.text('a.txt')).toBe(TARGET);
  });
});

describe('a change of very many lines', () => {
  const args = { path: 'a.txt', content: 'one\n' };
  const before = 'x\n'.repeat(100_001);

  it('is not shown, so nobody can approve it', async () => {
    const { box, hands } = proposal(before);
    await expect(hands.preview('write_file', args)).rejects.toThrow(/This change is too large to be shown/);
    expect(box.text('a.txt') === before).toBe(true);
  });

  it('is made if nobody has to be shown it', async () => {
    const { box, hands } = proposal(before);
    expect(await hands.run('write_file', args)).toBe('Wrote a.txt (4 bytes).');
    expect(box.text('a.txt')).toBe('one\n');
  });
});

const wide = (text: string): Buffer => Buffer.from(`\ufeff${text}`, 'utf16le');

it('writes a whole file in its encoding, with its mark', async () => {
  const box = makeBox({ 'a.txt': wide('old\n') });
  const hands = takeInHand(createWorkspaceTools({ root: box.root }));
  const args = { path: 'a.txt', content: 'neu ä\n' };
  expect((await hands.preview('write_file', args)).text).toContain('(UTF-16, little-endian)');
  expect(await hands.run('write_file', args)).toBe('Wrote a.txt (14 bytes).');
  expect(box.read('a.txt')).toEqual(wide('neu ä\n'));
  expect(await hands.run('read_file', { path: 'a.txt' })).toBe('neu ä\n');
});

it('changes no file that has several names, and says so before anybody is asked', async () => {
  const box = makeBox({ 'a.txt': 'one\n' });
  linkSync(join(box.root, 'a.txt'), join(box.root, 'b.txt'));
  const hands = takeInHand(createWorkspaceTools({ root: box.root }));
  const args = { path: 'a.txt', content: 'two\n' };
  const why = /"a.txt" has 2 names \(hard links\).*Nothing was written/;
  await expect(hands.preview('write_file', args)).rejects.toThrow(why);
  expect(await hands.say('write_file', args)).toMatch(why);
  expect(box.text('b.txt')).toBe('one\n');
});

describe('a name in another Unicode normal form', () => {
  const [one, other] = ['caf\u00e9.txt', 'cafe\u0301.txt'];

  it('is found where exactly one name folds to it, and the result says so', async () => {
    const box = makeBox({ [`dir\u00e9/${other}`]: 'one\n' });
    const hands = takeInHand(createWorkspaceTools({ root: box.root }));
    const path = `dire\u0301/${one}`;
    const form = '(the name stands there in another Unicode normal form: "dir\\u00e9/cafe\\u0301.txt")';
    expect(await hands.run('read_file', { path })).toBe(`${form}\none\n`);
    const args = { path, edits: [{ old_text: 'one', new_text: 'two' }] };
    const plan = await hands.plan('edit_file', args);
    expect(await hands.run('edit_file', args, { plan })).toBe(`Wrote dir\u00e9/${other} (4 bytes). ${form}`);
    expect(box.text(`dir\u00e9/${other}`)).toBe('two\n');
  });

  it('is itself where it is there too', async () => {
    const box = makeBox({ [one]: 'one\n', [other]: 'other\n' });
    const hands = takeInHand(createWorkspaceTools({ root: box.root }));
    expect(await hands.run('read_file', { path: one })).toBe('one\n');
    expect(await hands.run('read_file', { path: other })).toBe('other\n');
  });
});

describe('bytes survive', () => {
  it.each([
    ['CRLF', Buffer.from('a\r\nb\r\nc'), 'b', 'B', Buffer.from('a\r\nB\r\nc')],
    ['mixed line ends', Buffer.from('a\r\nb\nc\rd'), 'b\nc', 'X', Buffer.from('a\r\nX\rd')],
    ['no final newline', Buffer.from('a\nb'), 'b', 'c', Buffer.from('a\nc')],
    ['a byte order mark', Buffer.from('\ufeffa\n'), 'a', 'b', Buffer.from('\ufeffb\n')],
    ['UTF-16, little-endian', wide('a\r\n€ b\r\n'), '€ b\n', '𝄞 c\n', wide('a\r\n𝄞 c\r\n')],
    ['UTF-16, big-endian', wide('hello\n').swap16(), 'hello', 'hallo', wide('hallo\n').swap16()],
    ['Latin-1', Buffer.from('caf\xe9 x\n', 'latin1'), 'x', 'y', Buffer.from('caf\xe9 y\n', 'latin1')],
    ['Latin-1, edited', Buffer.from('caf\xe9\n', 'latin1'), 'café', 'thé', Buffer.from('th\xe9\n', 'latin1')],
    [
      'UTF-8 beside bytes that are none',
      Buffer.concat([Buffer.from('é '), Buffer.from([0xff, 0xfe]), Buffer.from(' z\n')]),
      'é',
      '€',
      Buffer.concat([Buffer.from('€ '), Buffer.from([0xff, 0xfe]), Buffer.from(' z\n')]),
    ],
  ])('of %s', async (_, before, old_text, new_text, after) => {
    const box = makeBox({ 'a.txt': before });
    const hands = takeInHand(createWorkspaceTools({ root: box.root }));
    const args = { path: 'a.txt', edits: [{ old_text, new_text }] };
    const plan = await hands.plan('edit_file', args);
    await hands.run('edit_file', args, { plan: JSON.parse(JSON.stringify(plan)) });
    expect(box.read('a.txt')).toEqual(after);
  });

  it('of a binary file, which has no text to change and is left alone', async () => {
    const bytes = Buffer.from([0, 1, 0x61, 0, 0xff]);
    const box = makeBox({ 'a.bin': bytes });
    const hands = takeInHand(createWorkspaceTools({ root: box.root }));
    expect(await hands.say('write_file', { path: 'a.bin', content: 'x' })).toMatch(/is a binary file/);
    expect(box.read('a.bin')).toEqual(bytes);
  });

  it('of any file and any change of its bytes', async () => {
    const box = makeBox();
    const root = createRoot(box.root);
    const bytes = fc.array(fc.constantFrom(0x0a, 0x0d, 0x61, 0x62, 0xe9, 0xff, 0xc3, 0xa9, 0), {
      maxLength: 30,
    });
    await fc.assert(
      fc.asyncProperty(bytes, bytes, async (before, after) => {
        box.write('a.bin', Buffer.from(before));
        const target = Buffer.from(after);
        fc.pre(!target.equals(Buffer.from(before)));
        let encodable = true;
        const plan = await planFile(root, 'a.bin', (_, encoding) => {
          const text = decodeText(target, encoding);
          encodable = encodeText(text, encoding).equals(target);
          return text;
        }).catch(() => undefined);
        if (plan === undefined || !encodable) return;
        await executePlan(root, plan);
        expect(box.read('a.bin')).toEqual(target);
      }),
      { numRuns: runs(200) },
    );
  });
});
