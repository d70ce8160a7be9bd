import {
  canAsk,
  choose,
  confirm,
  confirmInFull,
  Interrupted,
  openTerminal,
  type Terminal,
  askUntilAnswered,
  withTerminal,
} from '../../../src/cli/review/terminal';
import { testKeyboard, type TestKeyboard } from '../keyboard';

let keyboard: TestKeyboard;
let terminal: Terminal;

beforeEach(() => {
  keyboard = testKeyboard();
  terminal = openTerminal(keyboard);
});

afterEach(() => terminal.release());

describe('asking', () => {
  it('takes one line for one question', async () => {
    const first = terminal.ask('one? ');
    await keyboard.answer('one? ', 'a');
    expect(await first).toBe('a');
    const second = terminal.ask('two? ');
    await keyboard.answer('two? ', 'b');
    expect(await second).toBe('b');
  });

  it('takes nothing that was typed before the question stood there', async () => {
    const first = terminal.ask('one? ');
    await keyboard.answer('one? ', 'a');
    await first;
    keyboard.type('y\rhalf of a li');
    await new Promise((resolve) => setImmediate(resolve));
    const second = terminal.ask('two? ');
    await keyboard.answer('two? ', 'b');
    expect(await second).toBe('b');
  });

  it.each([
    ['Ctrl-C', '\x03'],
    ['Ctrl-D', '\x04'],
  ])('ends with %s, now and for every later question', async (_name, keys) => {
    const asked = terminal.ask('one? ');
    keyboard.type(keys);
    await expect(asked).rejects.toBeInstanceOf(Interrupted);
    await expect(terminal.ask('two? ')).rejects.toBeInstanceOf(Interrupted);
  });

  it('ends when the input does', async () => {
    const asked = terminal.ask('one? ');
    keyboard.input.emit('end');
    await expect(asked).rejects.toBeInstanceOf(Interrupted);
  });

  it('lets a person leave while something is waited for', async () => {
    const asked = terminal.ask('one? ');
    await keyboard.answer('one? ', 'a');
    await asked;
    const waiting = terminal.meanwhile(new Promise(() => undefined));
    keyboard.type('\x03');
    await expect(waiting).rejects.toBeInstanceOf(Interrupted);
    await expect(terminal.meanwhile(Promise.resolve(1))).rejects.toBeInstanceOf(Interrupted);
  });

  it('goes on after it was given away', async () => {
    const first = terminal.ask('one? ');
    await keyboard.answer('one? ', 'a');
    await first;
    terminal.release();
    const second = terminal.ask('two? ');
    await keyboard.answer('two? ', 'b');
    expect(await second).toBe('b');
  });
});

describe('a terminal', () => {
  it('is needed to ask', async () => {
    expect(canAsk(testKeyboard(false))).toBe(false);
    expect(canAsk(undefined)).toBe(false);
    await expect(withTerminal(testKeyboard(false), 'do that', async () => 1)).rejects.toMatchObject({
      code: 'usage',
      hint: 'do that',
    });
  });

  it('is given back whatever happens', async () => {
    const raw: boolean[] = [];
    const input = Object.assign(keyboard.input, { setRawMode: (mode: boolean) => void raw.push(mode) });
    const used = withTerminal({ ...keyboard, input }, '', async (open) => {
      const asked = open.ask('one? ');
      await keyboard.answer('one? ', 'a');
      await asked;
      throw new Error('broken');
    });
    await expect(used).rejects.toThrow('broken');
    expect(raw).toEqual([true, false]);
  });
});

describe('answers', () => {
  const say = (...lines: string[]): Pick<Terminal, 'ask'> => ({
    ask: () => Promise.resolve(lines.shift() ?? 'no more lines'),
  });
  const choices = [
    { means: 'yes', keys: ['y', 'yes'], does: 'do it' },
    { means: 'no', keys: ['n'], does: 'leave it' },
  ] as const;

  it.each([
    ['y', 'yes'],
    [' YES ', 'yes'],
    ['n', 'no'],
  ])('%j means %s', async (line, means) => {
    expect(await choose(say(line), 'Do it', choices, { lines: () => undefined })).toBe(means);
  });

  it.each(['', '?', 'x', 'yn', 'no'])('%j lists what the keys do, and asks again', async (line) => {
    const printed: string[] = [];
    const screen = { lines: (lines: readonly string[]) => void printed.push(...lines) };
    expect(await choose(say(line, 'n'), 'Do it', choices, screen)).toBe('no');
    expect(printed).toEqual(['y  do it', 'n  leave it']);
  });

  it.each([
    ['y', true],
    ['yes', true],
    ['', false],
    ['n', false],
    ['yy', false],
  ])('%j confirms: %s', async (line, sure) => {
    expect(await confirm(say(line), 'Sure?')).toBe(sure);
  });

  it.each([
    ['yes', true],
    ['y', false],
    ['', false],
  ])('%j confirms in full: %s', async (line, sure) => {
    expect(await confirmInFull(say(line), 'Sure?')).toBe(sure);
  });

  it('waits for words', async () => {
    expect(await askUntilAnswered(say('', '  ', ' why not '), 'Why? ')).toBe('why not');
  });
});
