import {
  canAsk,
  Interrupted,
  openTerminal,
  type Terminal,
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
