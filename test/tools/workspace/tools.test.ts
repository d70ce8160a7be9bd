import { chmodSync, readdirSync } from 'node:fs';
import type { JsonObject } from '../../../src/contract/json';
import { createWorkspaceTools } from '../../../src/tools/workspace';
import { makeBox, takeInHand } from './support';

function open(files: Record<string, string | Uint8Array> = {}) {
  const box = makeBox(files);
  return { box, hands: takeInHand(createWorkspaceTools({ root: box.root })) };
}

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

  it('describes every parameter', () => {
    for (const { name, schema } of createWorkspaceTools({ root: '.' })) {
      const properties = Object.entries(Object(schema['properties']));
      for (const [parameter, about] of properties) {
        expect([name, parameter, Object(about).description]).toEqual([name, parameter, expect.any(String)]);
      }
    }
  });
});

describe('read_file', () => {
  const files = { 'a.txt': 'one\ntwo\r\nthree', 'empty.txt': '', 'b.bin': Buffer.from([1, 0, 2]) };
  it.each([
    [{ path: 'a.txt' }, 'one\ntwo\r\nthree'],
    [{ path: './/a.txt' }, 'one\ntwo\r\nthree'],
    [{ path: 'a.txt', first_line: 2 }, 'two\r\nthree'],
    [{ path: 'a.txt', first_line: 2, line_count: 1 }, 'two\r\n'],
    [{ path: 'a.txt', line_count: 9 }, 'one\ntwo\r\nthree'],
    [{ path: 'empty.txt' }, ''],
    [{ path: 'a.txt', first_line: 4 }, 'tool: The file has only 3 lines.'],
    [{ path: 'b.bin' }, 'tool: "b.bin" is a binary file of 3 bytes; it has no text to read.'],
    [{ path: 'none.txt' }, 'tool: "none.txt" does not exist. Look at the folder with list_directory.'],
    [{ path: '.' }, 'tool: This is the workspace itself; name a file in it.'],
  ])('%j', async (args, said) => {
    expect(await open(files).hands.say('read_file', args)).toBe(said);
  });
});

describe('get_file_info', () => {
  it.each([
    ['text', 'a\nb', { size: 3, lines: 2, binary: false, encoding: 'UTF-8' }],
    ['Latin-1', Buffer.from([0xe9]), { size: 1, lines: 1, encoding: 'not UTF-8; shown as Latin-1' }],
    ['binary', Buffer.from([0]), { size: 1, binary: true }],
  ])('tells of a %s file', async (_, content, facts) => {
    expect(await open({ 'a.txt': content }).hands.run('get_file_info', { path: 'a.txt' })).toMatchObject({
      path: 'a.txt',
      sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
      ...facts,
    });
  });
});

describe('listing', () => {
  const files = { 'b.txt': '', 'a/c.txt': '', '.git/x': '', 'node_modules/y': '', 'odd\nname': '' };
  it.each([
    ['list_directory', {}, '.git/\na/\nb.txt\nnode_modules/\n"odd\\nname"'],
    ['list_directory', { path: 'a' }, 'c.txt'],
    ['list_directory', { path: '.git' }, 'x'],
    ['directory_tree', {}, '.git/ (skipped)\na/\n  c.txt\nb.txt\nnode_modules/ (skipped)\n"odd\\nname"'],
    [
      'directory_tree',
      { depth: 1 },
      '.git/ (skipped)\na/ (too deep)\nb.txt\nnode_modules/ (skipped)\n"odd\\nname"',
    ],
    ['directory_tree', { path: 'a' }, 'c.txt'],
    [
      'list_directory',
      { path: 'none' },
      'tool: "none" does not exist. Look at the folder with list_directory.',
    ],
    ['list_directory', { path: 'b.txt' }, expect.stringContaining('not a folder')],
  ])('%s %j', async (name, args, said) => {
    expect(await open(files).hands.say(name, args)).toEqual(said);
  });

  it('says when there is more, and when there is nothing', async () => {
    const { box, hands } = open({ 'few/a': '' });
    expect(await open().hands.run('list_directory', {})).toBe('(empty)');
    for (let index = 0; index < 2001; index++) box.write(`many/${index}`, '');
    for (const name of ['list_directory', 'directory_tree'])
      expect(await hands.say(name, { path: 'many' })).toMatch(
        /\n\(more than 2000 entries; list a folder below\)$/,
      );
  });
});

describe('search_files', () => {
  const files = {
    'a.ts': 'const colour = 1;\nCOLOUR\n',
    'src/b.ts': 'a (b\r\ncolour\r\n',
    'src/deep/c.md': 'colour\n',
    'node_modules/d.ts': 'colour\n',
    '.git/e': 'colour\n',
    'f.bin': Buffer.from('colour\0'),
    'g.txt': Buffer.from('colour \xe9\n', 'latin1'),
  };
  it.each([
    [
      { query: 'colour' },
      ['a.ts:1: const colour = 1;', 'g.txt:1: colour é', 'src/b.ts:2: colour', 'src/deep/c.md:1: colour'],
    ],
    [
      { query: 'colour', case_sensitive: false, glob: '*.ts' },
      ['a.ts:1: const colour = 1;', 'a.ts:2: COLOUR', 'src/b.ts:2: colour'],
    ],
    [{ query: 'colour', glob: 'src/**/*.{md,ts}' }, ['src/b.ts:2: colour', 'src/deep/c.md:1: colour']],
    [{ query: 'colour', glob: 'src/*' }, ['src/b.ts:2: colour']],
    [{ query: 'colour', path: 'src/deep' }, ['src/deep/c.md:1: colour']],
    [{ query: 'colour', path: 'a.ts' }, ['a.ts:1: const colour = 1;']],
    [{ query: 'colour', path: 'node_modules' }, ['node_modules/d.ts:1: colour']],
    [{ query: 'a (b' }, ['src/b.ts:1: a (b']],
    [{ query: '^c.*r$', regex: true, path: 'src' }, ['src/b.ts:2: colour', 'src/deep/c.md:1: colour']],
    [{ query: 'colour', max_results: 1 }, ['a.ts:1: const colour = 1;', '(more hits; narrow the search)']],
    [{ query: 'nowhere' }, ['No file has "nowhere".']],
  ])('%j', async (args, lines) => {
    expect(await open(files).hands.run('search_files', args)).toBe(lines.join('\n'));
  });

  it.each([
    [{ query: '(', regex: true }, /no regular expression that RE2 knows/],
    [{ query: '(?=a)', regex: true }, /no regular expression that RE2 knows/],
    [{ query: 'a', glob: '{a' }, /is not a glob/],
    [{ query: 'a', path: 'none' }, /does not exist/],
  ])('refuses %j', async (args, why) => {
    expect(await open(files).hands.say('search_files', args)).toMatch(why);
  });

  it('takes time linear in the text, whatever the pattern', async () => {
    const { hands } = open({ 'a.txt': `${'a'.repeat(50_000)}!\n` });
    expect(await hands.run('search_files', { query: '(a+)+$', regex: true })).toContain('No file has');
    expect(await hands.run('search_files', { query: '(a|a)*b', regex: true })).toContain('No file has');
  });

  it('ends when it is cancelled', async () => {
    const { hands } = open(files);
    await expect(
      hands.run('search_files', { query: 'x' }, { signal: AbortSignal.abort() }),
    ).rejects.toThrow();
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
    const { box, hands } = open({ 'a.txt': before });
    await hands.run('edit_file', { path: 'a.txt', edits });
    expect(box.text('a.txt')).toBe(after);
  });

  it('replaces every occurrence only when told to', async () => {
    const { box, hands } = open({ 'a.txt': 'a a a\n' });
    await hands.run('edit_file', { path: 'a.txt', edits: [edit('a', 'b')], replace_all: true });
    expect(box.text('a.txt')).toBe('b b b\n');
  });

  it.each([
    [
      'C13 no occurrence',
      [edit('z', 'x')],
      /Edit 1: its old_text does not stand in "a.txt"; nothing was changed/,
    ],
    ['C13 two', [edit('a', 'x')], /stands in "a.txt" more than once; nothing was changed/],
    ['two that overlap', [edit('bb', 'x')], /more than once/],
    ['no occurrence, for every one of them', [edit('z', 'x')], /does not stand/, true],
    ['the second without a place', [edit('c', 'x'), edit('c', 'y')], /Edit 2/],
    ['no change at all', [edit('c', 'c')], /Nothing would change/],
  ])('refuses %s', async (_, edits, why, replace_all = false) => {
    const { box, hands } = open({ 'a.txt': 'a a bbb c\n' });
    expect(await hands.say('edit_file', { path: 'a.txt', edits, replace_all })).toMatch(why);
    await expect(hands.preview('edit_file', { path: 'a.txt', edits, replace_all })).rejects.toThrow(why);
    expect(box.text('a.txt')).toBe('a a bbb c\n');
  });

  it('refuses a file that does not exist', async () => {
    expect(await open().hands.say('edit_file', { path: 'a.txt', edits: [edit('a', 'b')] })).toMatch(
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
    const { box, hands } = open({ 'a.txt': before });
    await hands.run('insert_at_line', { path: 'a.txt', line, text });
    expect(box.text('a.txt')).toBe(after);
  });

  it('refuses a line past the end', async () => {
    const { hands } = open({ 'a.txt': 'a\nb\n' });
    expect(await hands.say('insert_at_line', { path: 'a.txt', line: 4, text: 'x' })).toBe(
      'tool: "a.txt" has 2 lines, so line 4 is past its end; 3 appends.',
    );
    expect(hands.tool('insert_at_line').parse({ path: 'a.txt', line: 0, text: 'x' }).ok).toBe(false);
  });
});

describe('create_file and write_file', () => {
  it('make the folders that are missing, but not before it is approved', async () => {
    const { box, hands } = open();
    const args = { path: 'x/y/z.txt', content: 'new\n' };
    const { text } = await hands.preview('create_file', args);
    expect(text).toBe('--- /dev/null\n+++ x/y/z.txt\n@@ -0,0 +1,1 @@\n+new');
    expect(readdirSync(box.root)).toEqual([]);
    await hands.run('create_file', args);
    expect(box.text('x/y/z.txt')).toBe('new\n');
  });

  it('make an empty file, and say so', async () => {
    const { box, hands } = open();
    const args = { path: 'a.txt', content: '' };
    const { text, plan } = await hands.preview('create_file', args);
    expect(text).toContain('(an empty file)');
    expect(await hands.say('create_file', args, plan === undefined ? {} : { plan })).toBe(
      'Wrote a.txt (0 bytes).',
    );
    expect(box.text('a.txt')).toBe('');
  });

  it('refuse a file that exists, and one that would not change', async () => {
    const { hands } = open({ 'a.txt': 'a\n' });
    expect(await hands.say('create_file', { path: 'a.txt', content: 'b' })).toMatch(/"a.txt" exists/);
    expect(await hands.say('write_file', { path: 'a.txt', content: 'a\n' })).toMatch(/Nothing would change/);
    expect(await hands.say('create_file', { path: 'a.txt/b.txt', content: 'b' })).toMatch(/not a folder/);
  });
});

describe('move_file', () => {
  const args = { from: 'a.txt', to: 'b/c.txt' };
  it('moves to a name that is free, with its permissions', async () => {
    const { box, hands } = open({ 'a.txt': 'a\n' });
    chmodSync(`${box.root}/a.txt`, 0o700);
    const { text, plan } = await hands.preview('move_file', args);
    expect(text).toMatch(/^Move a\.txt \(2 bytes, SHA-256 [0-9a-f]{64}\)\nto b\/c\.txt$/);
    expect(plan).toMatchObject({ path: 'a.txt', targetHash: '', hunks: [] });
    expect(await hands.verify('move_file', args)).toEqual({ outcome: 'did_not' });
    expect(await hands.run('move_file', args)).toBe('Moved a.txt to b/c.txt.');
    expect([readdirSync(box.root), box.text('b/c.txt')]).toEqual([['b'], 'a\n']);
    expect(await hands.verify('move_file', args)).toEqual({
      outcome: 'happened',
      content: 'Moved to b/c.txt.',
    });
  });

  it.each([
    ['a name that is taken', { from: 'a.txt', to: 'b.txt' }, /exists/],
    ['a folder as new name', { from: 'a.txt', to: 'd' }, /is a folder|exists/],
    ['itself', { from: 'a.txt', to: './a.txt' }, /Both names are the same/],
    ['a folder', { from: 'd', to: 'e' }, /is a folder/],
    ['what does not exist', { from: 'none', to: 'e' }, /does not exist/],
  ])('refuses %s', async (_, given, why) => {
    const { box, hands } = open({ 'a.txt': 'a\n', 'b.txt': 'b\n', 'd/x': '' });
    expect(await hands.say('move_file', given)).toMatch(why);
    await expect(hands.preview('move_file', given)).rejects.toThrow(why);
    expect([box.text('a.txt'), box.text('b.txt')]).toEqual(['a\n', 'b\n']);
  });

  it.each([
    ['both are there', { 'a.txt': 'a\n', 'b/c.txt': 'a\n' }],
    ['neither is there', {}],
  ])('cannot tell whether it happened when %s', async (_, files) => {
    expect(await open(files).hands.verify('move_file', args)).toEqual({ outcome: 'cannot_tell' });
  });
});

describe.each([
  ['move_file', { from: 'a.txt', to: 'b.txt' }],
  ['delete_file', { path: 'a.txt' }],
])('%s, approved on what was shown', (tool, args) => {
  it('does nothing once the file has other bytes', async () => {
    const { box, hands } = open({ 'a.txt': 'shown\n' });
    const { plan } = await hands.preview(tool, args);
    box.write('a.txt', 'somebody wrote this meanwhile\n');
    expect(plan).toBeDefined();
    const context = plan === undefined ? {} : { plan };
    expect(await hands.say(tool, args, context)).toMatch(
      /^conflict: Conflict: "a.txt" changed since this was approved/,
    );
    expect(box.text('a.txt')).toBe('somebody wrote this meanwhile\n');
  });
});

describe('delete_file', () => {
  it('deletes a file, shown as the diff that empties it', async () => {
    const { box, hands } = open({ 'a.txt': 'one\ntwo\n' });
    const { text } = await hands.preview('delete_file', { path: 'a.txt' });
    expect(text).toMatch(
      /^Delete a\.txt \(8 bytes, SHA-256 [0-9a-f]{64}\)\n--- a\.txt\n\+\+\+ \/dev\/null\n@@ -1,2 \+0,0 @@\n-one\n-two$/,
    );
    expect(await hands.verify('delete_file', { path: 'a.txt' })).toEqual({ outcome: 'did_not' });
    expect(await hands.run('delete_file', { path: './a.txt' })).toBe('Deleted a.txt.');
    expect(readdirSync(box.root)).toEqual([]);
    expect(await hands.verify('delete_file', { path: 'a.txt' })).toEqual({
      outcome: 'happened',
      content: 'Deleted a.txt.',
    });
    expect(await hands.say('delete_file', { path: 'a.txt' })).toMatch(/^tool: "a.txt" does not exist/);
  });

  it('shows the head of a long file and how much is left', async () => {
    const { hands } = open({ 'a.txt': 'é 0123456789\n'.repeat(5000), 'b.bin': Buffer.alloc(100) });
    const { text } = await hands.preview('delete_file', { path: 'a.txt' });
    expect(text).toMatch(/\n-é 0123456789\n\(and \d+ bytes more\)$/);
    expect(text).not.toContain('Ã');
    expect(Buffer.byteLength(text)).toBeLessThan(20_000);
    expect((await hands.preview('delete_file', { path: 'b.bin' })).text).toMatch(/\n\(binary\)$/);
  });

  it('does not delete folders', async () => {
    expect(await open({ 'd/x': '' }).hands.say('delete_file', { path: 'd' })).toMatch(
      /is a folder, not a file/,
    );
  });
});
