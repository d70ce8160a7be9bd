import { openWorkspace } from './support';

describe('search_files', () => {
  const files = {
    'a.ts': 'const colour = 1;\nCOLOUR\n',
    'src/b.ts': 'a (b\r\ncolour\r\n',
    'src/deep/c.md': 'colour\n',
    'node_modules/d.ts': 'colour\n',
    '.git/e': 'colour\n',
    'f.bin': Buffer.from('colour\0'),
    'wide/le.txt': Buffer.from('\ufeffänd\r\n', 'utf16le'),
    'wide/be.txt': Buffer.from('\ufeffx\nänd', 'utf16le').swap16(),
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
    [{ query: 'nowhere', path: 'src' }, ['No file has "nowhere".']],
    [
      { query: 'nowhere' },
      [
        'No file that was searched has "nowhere".',
        '(not searched, skipped: .git/, node_modules/)',
        '(not searched, binary: f.bin)',
      ],
    ],
    [{ query: '^ä', regex: true, path: 'wide' }, ['wide/be.txt:2: änd', 'wide/le.txt:1: änd']],
  ])('%j', async (args, lines) => {
    expect(await openWorkspace(files).hands.run('search_files', args)).toBe(lines.join('\n'));
  });

  it.each([
    [{ query: '(', regex: true }, /not a regular expression that RE2 knows/],
    [{ query: '(?=a)', regex: true }, /not a regular expression that RE2 knows/],
    [{ query: '(.?){1000}(.?){1000}z', regex: true }, /repeats too much/],
    [{ query: 'a', glob: '{a' }, /is not a glob/],
    [{ query: 'a', path: 'none' }, /does not exist/],
  ])('refuses %j', async (args, why) => {
    expect(await openWorkspace(files).hands.say('search_files', args)).toMatch(why);
  });

  it('takes time linear in the text, whatever the pattern', async () => {
    const { hands } = openWorkspace({ 'a.txt': `${'a'.repeat(50_000)}!\n` });
    expect(await hands.run('search_files', { query: '(a+)+$', regex: true })).toContain('No file has');
    expect(await hands.run('search_files', { query: '(a|a)*b', regex: true })).toContain('No file has');
  });

  it('passes over a line that would take the pattern long, and says so', async () => {
    const { hands } = openWorkspace({ 'a.txt': `${'ab'.repeat(60_000)}\nabz\n` });
    const found = await hands.run('search_files', { query: '[ab](.{900})?[yz]$', regex: true });
    expect(found).toBe('a.txt:2: abz\n(lines too long for such a query were passed over: 1)');
  });

  it('ends when it is cancelled', async () => {
    const { hands } = openWorkspace(files);
    await expect(
      hands.run('search_files', { query: 'x' }, { signal: AbortSignal.abort() }),
    ).rejects.toThrow();
  });
});
