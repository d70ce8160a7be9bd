import { Prompt, Withdrawn } from '../../../src/cli/review/prompt';
import { Interrupted } from '../../../src/cli/review/terminal';
import { until } from '../../support/until';
import { testKeyboard } from '../keyboard';
import { testScreen } from '../support';

const open = () => {
  const keyboard = testKeyboard();
  const happened: string[] = [];
  const prompt = new Prompt(keyboard, {
    onText: (text) => happened.push(text),
    onInterrupt: () => happened.push('interrupt'),
    onEnd: () => happened.push('end'),
  });
  prompt.show();
  prompts.push(prompt);
  return { keyboard, prompt, happened };
};
const prompts: Prompt[] = [];
afterEach(() => prompts.splice(0).forEach((prompt) => prompt.close()));

it.each<[name: string, typed: string, texts: string[]]>([
  ['a line', 'hello\r', ['hello']],
  ['Enter alone', '\r', ['']],
  ['lines that go on', 'one\\\rtwo\\\rthree\r', ['one\ntwo\nthree']],
  ['a pasted text', '\x1b[200~one\rtwo\x1b[201~\r', ['one\ntwo']],
  ['a pasted backslash as it is', '\x1b[200~one\\\rtwo\x1b[201~\r', ['one\\\ntwo']],
  ['a line again by the up arrow', 'one\r\x1b[A\r', ['one', 'one']],
  ['Ctrl-C', 'half\x03', ['interrupt']],
  ['Ctrl-D', '\x04', ['end']],
])('takes %s', async (_name, typed, texts) => {
  const { keyboard, happened } = open();
  keyboard.type(typed);
  await until('what was typed', () => happened.length === texts.length);
  expect(happened).toEqual(texts);
});

it('keeps what is typed below what is printed', async () => {
  const { keyboard, prompt, happened } = open();
  keyboard.type('half');
  await until('the half', () => prompt.isTyping());
  const screen = testScreen();
  prompt.above(screen).line('news');
  expect(screen.printed).toEqual(['news']);
  expect(keyboard.shown()).toMatch(/> half\r?> half$/);
  keyboard.type(' done\r');
  await until('the line', () => happened.length > 0);
  expect(happened).toEqual(['half done']);
});

describe('a question', () => {
  it('is answered by a typed line, which no up arrow brings back as a message', async () => {
    const { keyboard, prompt, happened } = open();
    const answer = prompt.questions(() => prompt.ask('Sure? '));
    await keyboard.answer('Sure? ', 'yes');
    expect(await answer).toBe('yes');
    keyboard.type('\x1b[A\r');
    await until('the line', () => happened.length > 0);
    expect(happened).toEqual(['']);
  });

  it('is not answered by what is pasted', async () => {
    const { keyboard, prompt, happened } = open();
    const answer = prompt.questions(() => prompt.ask('Sure? '));
    keyboard.type('\x1b[200~yes\ryes\r\x1b[201~');
    keyboard.type('no\r');
    expect(await answer).toBe('no');
    expect(happened).toEqual([]);
  });

  it('ends with Ctrl-C, which reaches nobody else', async () => {
    const { keyboard, prompt, happened } = open();
    const answer = prompt.questions(() => prompt.ask('Sure? '));
    keyboard.type('\x03');
    await expect(answer).rejects.toThrow(Interrupted);
    expect(happened).toEqual([]);
  });

  it('ends where it is withdrawn', async () => {
    const { prompt } = open();
    const answer = prompt.questions(() => prompt.ask('Sure? '));
    prompt.withdraw();
    await expect(answer).rejects.toThrow(Withdrawn);
  });

  it('ends with the terminal, and none is asked after it', async () => {
    const { prompt } = open();
    const answer = prompt.questions(() => prompt.ask('Sure? '));
    prompt.close();
    await expect(answer).rejects.toThrow(Interrupted);
    await expect(prompt.ask('Sure? ')).rejects.toThrow(Interrupted);
  });

  it('is taken back with the work that follows it', async () => {
    const { keyboard, prompt } = open();
    const work = prompt.questions(() => prompt.meanwhile(new Promise(() => undefined)));
    keyboard.type('\x03');
    await expect(work).rejects.toThrow(Interrupted);
  });

  it('holds what is printed while an editor has the terminal', async () => {
    const { prompt } = open();
    const screen = testScreen();
    await prompt.questions(async () => {
      prompt.release();
      prompt.above(screen).line('news');
      expect(screen.printed).toEqual([]);
    });
    expect(screen.printed).toEqual(['news']);
  });
});
