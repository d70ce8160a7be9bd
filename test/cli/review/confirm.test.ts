import { askUntilAnswered, choose, confirm, confirmInFull } from '../../../src/cli/review/confirm';
import type { Terminal } from '../../../src/cli/review/terminal';

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
