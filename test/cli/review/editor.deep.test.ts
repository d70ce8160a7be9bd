import { existsSync, mkdtempSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { editorOf, letPersonEdit } from '../../../src/cli/review/editor';
import { scratchDirectory, writeScript } from '../../support/scratch';

const directory = scratchDirectory();
const PATH = process.env['PATH'];

/** An editor that is a shell script; the file is `$1`. */
const editor = (...lines: string[]): NodeJS.ProcessEnv => ({
  PATH,
  EDITOR: writeScript(join(directory(), 'editor'), ...lines),
});

const edit = (env: NodeJS.ProcessEnv, text = 'before\n'): Promise<string> =>
  letPersonEdit({ text, name: 'arguments.jsonc', env });

/** Files of editors go here: other tests edit at the same time in the machine's own. */
const withOwnPlace = async (work: (place: string) => Promise<void>): Promise<void> => {
  const before = process.env['TMPDIR'];
  const place = mkdtempSync(join(directory(), 'tmp-'));
  process.env['TMPDIR'] = place;
  await work(place).finally(() => {
    if (before === undefined) delete process.env['TMPDIR'];
    else process.env['TMPDIR'] = before;
  });
};

describe('the setting', () => {
  it.each<[NodeJS.ProcessEnv, string | undefined]>([
    [{}, undefined],
    [{ EDITOR: '', VISUAL: ' ' }, undefined],
    [{ EDITOR: 'ed' }, 'ed'],
    [{ EDITOR: 'ed', VISUAL: 'vim' }, 'vim'],
    [{ EDITOR: 'ed', VISUAL: '' }, 'ed'],
  ])('%j', (env, expected) => {
    expect(editorOf(env)).toBe(expected);
  });
});

describe('editing', () => {
  it('gives the text to the editor and takes back what it leaves', async () => {
    const env = editor('cat "$1" > "$(dirname "$0")/was"', 'echo after > "$1"');
    expect(await edit(env)).toBe('after\n');
    expect(readFileSync(join(directory(), 'was'), 'utf8')).toBe('before\n');
  });

  it('keeps the file to its owner, and removes it', async () => {
    const env = editor(
      'here="$(dirname "$0")"',
      'stat -c %a "$1" "$(dirname "$1")" > "$here/modes"',
      'echo "$1" > "$here/name"',
    );
    await edit(env);
    expect(readFileSync(join(directory(), 'modes'), 'utf8')).toBe('600\n700\n');
    const file = readFileSync(join(directory(), 'name'), 'utf8').trim();
    expect(file).toMatch(/arguments\.jsonc$/);
    expect(existsSync(join(file, '..'))).toBe(false);
  });

  it('takes options and quotes in the setting', async () => {
    const script = writeScript(join(directory(), 'my editor'), 'echo "$1" > "$2"');
    expect(await edit({ PATH, VISUAL: `'${script}' --wait` })).toBe('--wait\n');
  });

  it.each<[string, () => NodeJS.ProcessEnv, RegExp]>([
    ['no editor', () => ({ PATH }), /no editor is set/],
    [
      'one that is not there',
      () => ({ PATH, EDITOR: '/no/such/editor' }),
      /\/no\/such\/editor.*was not found/,
    ],
    ['one that fails', () => editor('exit 3'), /ended with 3/],
    ['one that is killed', () => editor('kill -9 $$'), /was ended by SIGKILL/],
    ['one that removes the file', () => editor('rm "$1"'), /left no file behind/],
  ])('tells of %s, and leaves nothing behind', async (_name, env, message) => {
    await withOwnPlace(async (place) => {
      await expect(edit(env())).rejects.toMatchObject({
        code: 'failed',
        message: expect.stringMatching(message),
        hint: expect.any(String),
      });
      expect(readdirSync(place)).toEqual([]);
    });
  });

  it('leaves no handler of signals behind', async () => {
    const before = process.listenerCount('SIGINT');
    await edit(editor('exit 0'));
    await expect(edit(editor('exit 1'))).rejects.toThrow();
    expect(process.listenerCount('SIGINT')).toBe(before);
  });
});
