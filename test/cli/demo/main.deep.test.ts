import { join } from 'node:path';
import { fixedAnswers, readDemoOptions } from '../../../src/cli/demo/play';
import {
  diffOfSnapshots,
  copyWorkspace,
  expected,
  newTextOf,
  SCENE,
  snapshot,
  withNewText,
} from '../../../src/cli/demo/scene';
import { ensureBuilt, lib } from '../../support/build';
import { startNode } from '../process';

describe('the command line of the demo', () => {
  it.each<[string[], boolean, object]>([
    [[], true, {}],
    [['--answer', 'deny'], false, { answer: 'deny' }],
    [['--answer=edit'], true, { answer: 'edit' }],
  ])('%j at a terminal: %s', (args, isTerminal, options) => {
    expect(readDemoOptions(args, isTerminal)).toEqual(options);
  });

  it.each<[string[], boolean]>([
    [[], false],
    [['--answer'], true],
    [['--answer', 'maybe'], true],
    [['approve'], true],
    [['--nope'], true],
  ])('refuses %j', (args, isTerminal) => {
    expect(() => readDemoOptions(args, isTerminal)).toThrow();
  });

  it('ends with 2 where nobody can be asked', async () => {
    ensureBuilt();
    const { code, out, err } = await startNode([lib('cli', 'demo', 'main.js')]).ended;
    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(err).toContain('--answer approve|deny|edit');
  });
});

describe('the project it works on', () => {
  it('is real enough: several files, the old name in many of them', async () => {
    const { root, remove } = await copyWorkspace();
    try {
      const files = await snapshot(root);
      expect(files.size).toBeGreaterThanOrEqual(8);
      const named = [...files].filter(([, text]) => text.includes(SCENE.from)).map(([path]) => path);
      expect(named.length).toBeGreaterThanOrEqual(4);
      expect(named).toContain(SCENE.file);
      expect((files.get(SCENE.file) ?? '').split(SCENE.from).length).toBeGreaterThan(2);
      expect(files.has(join('src', 'invoice.ts'))).toBe(true);
    } finally {
      await remove();
    }
  });
});

describe('what the files have to be', () => {
  const before = new Map([
    [SCENE.file, 'Acme Ltd, and Acme Ltd\n'],
    ['other', 'Acme Ltd'],
  ]);

  it.each<[string, string | undefined, string]>([
    ['approved', SCENE.to, 'Northwind GmbH, and Northwind GmbH\n'],
    ['edited to a text with a pattern', '$& Co', '$& Co, and $& Co\n'],
    ['denied', undefined, 'Acme Ltd, and Acme Ltd\n'],
  ])('%s', (_name, text, readme) => {
    const wanted = expected(before, text);
    expect(wanted.get(SCENE.file)).toBe(readme);
    expect(wanted.get('other')).toBe('Acme Ltd');
  });

  it.each<[string, [string, string][]]>([
    ['a change that was not made', []],
    [
      'a change too many',
      [
        [SCENE.file, 'Northwind GmbH, and Northwind GmbH\n'],
        ['other', 'x'],
      ],
    ],
    [
      'a file too many',
      [
        [SCENE.file, 'Northwind GmbH, and Northwind GmbH\n'],
        ['new', 'x'],
      ],
    ],
  ])('tells %s', (_name, changes) => {
    expect(diffOfSnapshots(expected(before, SCENE.to), new Map([...before, ...changes]))).not.toBe('');
  });

  it('finds nothing where all is well', () => {
    expect(diffOfSnapshots(expected(before, SCENE.to), expected(before, SCENE.to))).toBe('');
  });

  it('shows changes as a diff without noise', () => {
    expect(diffOfSnapshots(before, expected(before, 'X'))).toBe(
      `--- README.md\n+++ README.md\n@@ -1,1 +1,1 @@\n-Acme Ltd, and Acme Ltd\n+X, and X\n`,
    );
  });
});

describe('answers', () => {
  const args = { path: 'README.md', edits: [{ old_text: 'Acme Ltd', new_text: 'Northwind GmbH' }] };

  it('edit the new text and nothing else', () => {
    expect(newTextOf(args)).toBe('Northwind GmbH');
    expect(withNewText(args, 'X')).toEqual({
      path: 'README.md',
      edits: [{ old_text: 'Acme Ltd', new_text: 'X' }],
    });
  });

  it.each([
    ['approve', ['approve', 'approve']],
    ['deny', ['deny', 'deny']],
    ['edit', ['edit', 'approve']],
  ] as const)('--answer %s says %j', async (answer, said) => {
    const answerer = fixedAnswers(answer);
    const replies = [await answerer(args, 1), await answerer(args, 2)];
    expect(replies.map((reply) => reply.answer)).toEqual(said);
  });
});
