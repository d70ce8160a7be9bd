import { createScreen, createStyle, type Sink, wantsColor } from '../../../src/cli/print/screen';

describe('whether to colour', () => {
  const terminal = { isTTY: true };
  it.each<[string, { isTTY?: boolean }, NodeJS.ProcessEnv, boolean]>([
    ['a terminal', terminal, {}, true],
    ['a pipe', {}, {}, false],
    ['NO_COLOR', terminal, { NO_COLOR: '1' }, false],
    ['an empty NO_COLOR', terminal, { NO_COLOR: '' }, true],
    ['a dumb terminal', terminal, { TERM: 'dumb' }, false],
    ['FORCE_COLOR on a pipe', {}, { FORCE_COLOR: '1' }, true],
    ['FORCE_COLOR=0 on a terminal', terminal, { FORCE_COLOR: '0' }, false],
    ['FORCE_COLOR beside NO_COLOR', {}, { FORCE_COLOR: '1', NO_COLOR: '1' }, true],
  ])('%s', (_name, stream, env, expected) => {
    expect(wantsColor(stream, env)).toBe(expected);
  });
});

describe('styles', () => {
  it('colour where there is colour', () => {
    expect(createStyle(true).bad('no')).toBe('\x1b[31mno\x1b[39m');
  });

  it.each(['strong', 'quiet', 'good', 'bad', 'warn', 'link', 'mark'] as const)(
    'leave %s text alone without',
    (name) => {
      expect(createStyle(false)[name]('text')).toBe('text');
    },
  );
});

describe('a screen', () => {
  const sink = (about: Partial<Sink> = {}) => {
    const written: string[] = [];
    return { ...about, written, write: (text: string) => written.push(text) };
  };

  it.each<[string, Partial<Sink>, NodeJS.ProcessEnv, number]>([
    ['a pipe cuts nothing', {}, {}, Infinity],
    ['a terminal', { isTTY: true, columns: 132 }, {}, 132],
    ['a terminal that does not know', { isTTY: true, columns: 0 }, {}, 80],
    ['COLUMNS', { isTTY: true, columns: 132 }, { COLUMNS: '40' }, 40],
    ['COLUMNS on a pipe', {}, { COLUMNS: '40' }, 40],
    ['COLUMNS that is nonsense', { isTTY: true, columns: 90 }, { COLUMNS: 'wide' }, 90],
    ['hardly any columns', {}, { COLUMNS: '3' }, 20],
  ])('knows its width: %s', (_name, about, env, width) => {
    expect(createScreen(sink(about), sink(), env).width).toBe(width);
  });

  it('keeps data and progress apart', () => {
    const out = sink();
    const err = sink();
    const screen = createScreen(out, err, {});
    screen.lines(['a', 'b']);
    screen.jsonLine({ a: 1 });
    screen.note('busy');
    expect(out.written.join('')).toBe('a\nb\n{"a":1}\n');
    expect(err.written.join('')).toBe('busy\n');
  });

  it('draws on a terminal, and prints in place of what it drew', () => {
    const out = sink({ isTTY: true });
    const err = sink();
    const screen = createScreen(out, err, { NO_COLOR: '1' });
    screen.draw(['one', 'two \x1b[2J']);
    screen.draw(['three']);
    screen.line('four');
    screen.draw(['five']);
    screen.note('six');
    screen.line('seven');
    expect(out.written.join('')).toBe(
      'one\ntwo \\x1b[2J\n\x1b[2A\x1b[Jthree\n\x1b[1A\x1b[Jfour\nfive\n\x1b[1A\x1b[Jseven\n',
    );
    expect(err.written).toEqual(['six\n']);
  });

  it.each<[string, Partial<Sink>, NodeJS.ProcessEnv]>([
    ['a pipe', {}, {}],
    ['a dumb terminal', { isTTY: true }, { TERM: 'dumb' }],
  ])('draws nothing on %s', (_name, about, env) => {
    const out = sink(about);
    createScreen(out, sink(), env).draw(['one']);
    expect(out.written).toEqual([]);
  });
});
