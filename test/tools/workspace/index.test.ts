import { readdirSync } from 'node:fs';
import { createShellTools } from '../../../src/tools/shell-tools';
import { createWorkspaceTools } from '../../../src/tools/workspace';
import type { JsonObject } from '../../../src/contract/json';
import { openWorkspace, workspaceFixture } from './support';

describe('the pack', () => {
  it('reads without asking, and asks before it writes', () => {
    const tools = createWorkspaceTools({ root: '.', taskQueue: 'files' });
    expect(tools.map(({ name, safety, effect }) => `${name} ${safety} ${effect}`)).toEqual([
      'read_file safe pure',
      'get_file_info safe pure',
      'list_directory safe pure',
      'directory_tree safe pure',
      'search_files safe pure',
      'write_file dangerous idempotent',
      'create_file dangerous idempotent',
      'edit_file dangerous idempotent',
      'insert_at_line dangerous idempotent',
      'propose_file_edit dangerous idempotent',
      'move_file dangerous unsafe',
      'delete_file dangerous unsafe',
    ]);
    expect(
      tools.every(({ categories, taskQueue }) => categories[0] === 'workspace' && taskQueue === 'files'),
    ).toBe(true);
    const writers = tools.filter(({ safety }) => safety === 'dangerous');
    expect(writers.every(({ preview }) => preview !== undefined)).toBe(true);
  });

  it('is of other tools in another folder', () => {
    const digestsOf = (root: string) => createWorkspaceTools({ root }).map(({ digest }) => digest);
    expect(digestsOf('/work/b/../a')).toEqual(digestsOf('/work/a'));
    expect(new Set([...digestsOf('/work/a'), ...digestsOf('/work/b')]).size).toBe(24);
  });

  it('describes every parameter', () => {
    for (const { name, schema } of createWorkspaceTools({ root: '.' })) {
      const properties = Object.entries(Object(schema['properties']));
      for (const [parameter, about] of properties) {
        expect([name, parameter, Object(about).description]).toEqual([name, parameter, expect.any(String)]);
      }
    }
  });
});

describe('a root that does not name a folder, as JavaScript passes it', () => {
  const packs: [string, (options: never) => unknown][] = [
    ['createWorkspaceTools', createWorkspaceTools],
    ['createShellTools', createShellTools],
  ];
  const roots = [undefined, null, 5, ['.'], '', 'a\0b'];
  it.each(packs.flatMap(([name, make]) => roots.map((root) => ({ name, make, root }))))(
    '$name refuses $root with words',
    ({ make, root }) => {
      expect(() => Reflect.apply(make, undefined, [{ root }])).toThrow(
        expect.objectContaining({
          code: 'config_invalid',
          message: expect.stringMatching(/^root has to name a folder; it is /),
        }),
      );
    },
  );
});

it('edit_file leaves the file as it was if its edits are too much for one call', async () => {
  const before = 'ab\n'.repeat(200_001);
  const { box, hands } = openWorkspace({ 'a.txt': before });
  const args = { path: 'a.txt', edits: [{ old_text: 'ab', new_text: 'ba' }], replace_all: true };
  await expect(hands.preview('edit_file', args)).rejects.toThrow(/more than 200000 pieces/);
  expect(await hands.say('edit_file', args)).toMatch(/^tool: The edits of this call would replace/);
  expect(box.text('a.txt') === before).toBe(true);
});

describe('a second attempt without a plan', () => {
  const lost = (path: string) =>
    `conflict: An earlier attempt may have changed "${path}". This attempt wrote nothing. Read the file and propose anew.`;

  it.each<[string, JsonObject, string]>([
    ['edit_file', { edits: [{ old_text: 'a', new_text: 'ab' }] }, 'ab\n'],
    ['edit_file', { edits: [{ old_text: 'a', new_text: 'aa' }], replace_all: true }, 'aa\n'],
    ['insert_at_line', { line: 1, text: 'new' }, 'new\na\n'],
  ])('of %s %j does not make the change twice', async (tool, args, after) => {
    const { box, hands } = openWorkspace({ 'a.txt': 'a\n' });
    const call = { path: './a.txt', ...args };
    expect(await hands.say(tool, call, { ranBefore: false })).toMatch(/^Wrote a.txt/);
    expect(await hands.say(tool, call, { ranBefore: true })).toBe(lost('a.txt'));
    expect(box.text('a.txt')).toBe(after);
  });

  it.each<[string, JsonObject]>([
    ['write_file', { content: 'b\n' }],
    ['propose_file_edit', { new_content: 'b\n' }],
    ['create_file', { content: 'b\n' }],
  ])(
    'of %s writes if the first wrote nothing: its content does not depend on the file',
    async (tool, args) => {
      const { box, hands } = openWorkspace();
      expect(await hands.say(tool, { path: 'a.txt', ...args }, { ranBefore: true })).toMatch(/^Wrote a.txt/);
      expect(box.text('a.txt')).toBe('b\n');
    },
  );
});

describe('a second attempt without a plan, after the first one wrote and its answer was lost', () => {
  const WHOLE: [string, JsonObject][] = [
    ['write_file', { content: 'b\n' }],
    ['write_file', { content: 'b\0' }],
    ['create_file', { content: 'b\n' }],
    ['propose_file_edit', { new_content: 'b\n' }],
  ];
  it.each(WHOLE)('of %s %j finds the file as it should be: a success', async (tool, args) => {
    const { box, hands } = openWorkspace();
    const call = { path: './a.txt', ...args };
    expect(await hands.say(tool, call)).toBe('Wrote a.txt (2 bytes).');
    expect(await hands.run(tool, call, { ranBefore: true })).toBe(
      'a.txt already is as asked (2 bytes); nothing had to be written.',
    );
    expect(readdirSync(box.root)).toEqual(['a.txt']);
  });

  it.each<[string, JsonObject, string]>([
    ['create_file', { content: 'b\n' }, 'another text\n'],
    ['write_file', { content: 'b\n' }, 'now binary \0'],
  ])(
    'of %s does not say that nothing was written if the file is another one now',
    async (tool, args, now) => {
      const { box, hands } = openWorkspace();
      const call = { path: 'a.txt', ...args };
      await hands.run(tool, call);
      box.write('a.txt', now);
      expect(await hands.say(tool, call, { ranBefore: true })).toMatch(
        /^conflict: An earlier attempt may have changed "a.txt". This attempt wrote nothing: "a.txt" (exists|is a binary file).* Read the file and propose anew\.$/,
      );
      expect(box.text('a.txt')).toBe(now);
    },
  );
});

describe('on real files', () => {
  const fixture = workspaceFixture();

  it.each([
    ['edit_file', { edits: [{ old_text: 'A', new_text: 'B' }] }],
    ['write_file', { content: 'B' }],
    ['insert_at_line', { line: 1, text: 'B' }],
    ['propose_file_edit', { new_content: 'B' }],
  ])('%s refuses a binary file', async (tool, args) => {
    fixture.put('a.bin', Buffer.from([65, 0, 66]));
    await expect(fixture.preview(tool, { path: 'a.bin', ...args })).rejects.toThrow(/binary/);
  });

  it('does not take bytes that are no UTF-8 for the mark that stands for them', async () => {
    const base = `k\ufffd\n${'x\n'.repeat(10)}end\n`;
    fixture.put('a.txt', base);
    const args = { path: 'a.txt', new_content: `K\n${base.replace('end', 'END')}` };
    const plan = await fixture.plan('propose_file_edit', args);
    const foreign = Buffer.from(base.replace('end', 'END'))
      .toString('latin1')
      .replace('\u00ef\u00bf\u00bd', '\u00ff');
    fixture.put('a.txt', Buffer.from(foreign, 'latin1'));
    const before = fixture.bytes('a.txt');
    await expect(fixture.handle('propose_file_edit', args, { plan, hunks: ['2'] })).rejects.toMatchObject({
      code: 'conflict',
    });
    expect(fixture.bytes('a.txt')).toEqual(before);
  });
});

describe('edit_file', () => {
  const edit = (old_text: string, new_text: string): JsonObject => ({ old_text, new_text });
  it.each([
    ['one', 'a b\n', [edit('a', 'x')], 'x b\n'],
    ['several, each on what the ones before left', 'a b\n', [edit('a', 'x'), edit('x b', 'y')], 'y\n'],
    ['a pattern is no pattern', '$& .*\n', [edit('.*', '$&')], '$& $&\n'],
    ['lines of a CRLF file, given with \\n', 'a\r\nb\r\n', [edit('a\nb', 'c\nd')], 'c\r\nd\r\n'],
    ['a deletion', 'a b\n', [edit(' b', '')], 'a\n'],
  ])('makes %s', async (_, before, edits, after) => {
    const { box, hands } = openWorkspace({ 'a.txt': before });
    await hands.run('edit_file', { path: 'a.txt', edits });
    expect(box.text('a.txt')).toBe(after);
  });

  it('replaces every occurrence only on request', async () => {
    const { box, hands } = openWorkspace({ 'a.txt': 'a a a\n' });
    await hands.run('edit_file', { path: 'a.txt', edits: [edit('a', 'b')], replace_all: true });
    expect(box.text('a.txt')).toBe('b b b\n');
  });

  it.each([
    [
      'no occurrence',
      [edit('z', 'x')],
      /Edit 1: its old_text does not stand in "a.txt"; nothing was changed/,
    ],
    ['two', [edit('a', 'x')], /stands in "a.txt" more than once; nothing was changed/],
    ['two that overlap', [edit('bb', 'x')], /more than once/],
    ['no occurrence, for every one of them', [edit('z', 'x')], /does not stand/, true],
    ['the second without a place', [edit('c', 'x'), edit('c', 'y')], /Edit 2/],
    ['no change at all', [edit('c', 'c')], /Nothing would change/],
  ])('refuses %s', async (_, edits, why, replace_all = false) => {
    const { box, hands } = openWorkspace({ 'a.txt': 'a a bbb c\n' });
    expect(await hands.say('edit_file', { path: 'a.txt', edits, replace_all })).toMatch(why);
    await expect(hands.preview('edit_file', { path: 'a.txt', edits, replace_all })).rejects.toThrow(why);
    expect(box.text('a.txt')).toBe('a a bbb c\n');
  });

  it('refuses a file that does not exist', async () => {
    expect(await openWorkspace().hands.say('edit_file', { path: 'a.txt', edits: [edit('a', 'b')] })).toMatch(
      /Use create_file/,
    );
  });
});

describe('insert_at_line', () => {
  it.each([
    ['a\nb\n', 1, 'x', 'x\na\nb\n'],
    ['a\nb\n', 2, 'x\n', 'a\nx\nb\n'],
    ['a\nb\n', 3, 'x', 'a\nb\nx\n'],
    ['a\nb', 3, 'x', 'a\nb\nx\n'],
    ['a\r\nb\r\n', 2, 'x\ny', 'a\r\nx\r\ny\r\nb\r\n'],
    ['', 1, 'x', 'x\n'],
  ])('%j before line %d', async (before, line, text, after) => {
    const { box, hands } = openWorkspace({ 'a.txt': before });
    await hands.run('insert_at_line', { path: 'a.txt', line, text });
    expect(box.text('a.txt')).toBe(after);
  });

  it('refuses a line past the end', async () => {
    const { hands } = openWorkspace({ 'a.txt': 'a\nb\n' });
    expect(await hands.say('insert_at_line', { path: 'a.txt', line: 4, text: 'x' })).toBe(
      'tool: "a.txt" has 2 lines, so line 4 is past its end; 3 appends.',
    );
    expect(hands.tool('insert_at_line').parse({ path: 'a.txt', line: 0, text: 'x' }).ok).toBe(false);
  });
});

describe('create_file and write_file', () => {
  it('make the folders that are missing, but not before it is approved', async () => {
    const { box, hands } = openWorkspace();
    const args = { path: 'x/y/z.txt', content: 'new\n' };
    const { text } = await hands.preview('create_file', args);
    expect(text).toBe('--- /dev/null\n+++ x/y/z.txt\n@@ -0,0 +1,1 @@\n+new');
    expect(readdirSync(box.root)).toEqual([]);
    await hands.run('create_file', args);
    expect(box.text('x/y/z.txt')).toBe('new\n');
  });

  it('make an empty file, and say so', async () => {
    const { box, hands } = openWorkspace();
    const args = { path: 'a.txt', content: '' };
    const { text, plan } = await hands.preview('create_file', args);
    expect(text).toContain('(an empty file)');
    expect(await hands.say('create_file', args, plan === undefined ? {} : { plan })).toBe(
      'Wrote a.txt (0 bytes).',
    );
    expect(box.text('a.txt')).toBe('');
  });

  it('refuse a file that exists, and one that would not change', async () => {
    const { hands } = openWorkspace({ 'a.txt': 'a\n' });
    expect(await hands.say('create_file', { path: 'a.txt', content: 'b' })).toMatch(/"a.txt" exists/);
    expect(await hands.say('write_file', { path: 'a.txt', content: 'a\n' })).toMatch(/Nothing would change/);
    expect(await hands.say('create_file', { path: 'a.txt/b.txt', content: 'b' })).toMatch(/not a folder/);
  });
});

it.each<[string, JsonObject]>([
  ['create_file', { path: 'new.txt', content: 'a\ud800' }],
  ['write_file', { path: 'a.txt', content: '\udc00' }],
  ['propose_file_edit', { path: 'a.txt', new_content: 'x\ud83d' }],
  ['insert_at_line', { path: 'a.txt', line: 1, text: '\ud83d' }],
  ['edit_file', { path: 'a.txt', edits: [{ old_text: 'a', new_text: '\ud83d' }] }],
  ['edit_file', { path: 'a.txt', edits: [{ old_text: '\ude00', new_text: 'b' }] }],
])('%s %j is refused: half a character would become another one', async (name, args) => {
  const { box, hands } = openWorkspace({ 'a.txt': 'a😀\n' });
  expect(await hands.say(name, args)).toMatch(/half a character/);
  await expect(hands.plan(name, args)).rejects.toThrow(/half a character/);
  expect(box.text('a.txt')).toBe('a😀\n');
});
