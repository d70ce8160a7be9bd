import { PassThrough } from 'node:stream';
import type { Keyboard } from '../../src/cli/review/terminal';
import { until } from '../support/until';

/** A terminal that a test types on. */
export interface TestKeyboard extends Keyboard {
  /** Everything that was printed, without the codes that move the cursor. */
  shown(): string;
  /** Waits until a question ends the output, then types a line. */
  answer(question: string | RegExp, line: string): Promise<void>;
  /** Types as it is. */
  type(text: string): void;
}

/** A keyboard of a terminal, or of what is none. */
export function testKeyboard(isTTY = true): TestKeyboard {
  const input = Object.assign(new PassThrough(), { isTTY });
  const output = Object.assign(new PassThrough(), { isTTY, columns: 100 });
  let printed = '';
  let read = 0;
  output.on('data', (chunk) => (printed += String(chunk)));
  const shown = (): string => printed.replace(/\x1b\[[0-9;?]*[A-Za-z]/g, '');
  return {
    input,
    output,
    shown,
    type: (text) => void input.write(text),
    answer: async (question, line) => {
      await until(`the question ${String(question)}, not ${JSON.stringify(shown().slice(-200))}`, () => {
        const news = shown().slice(read);
        return typeof question === 'string' ? news.includes(question) : question.test(news);
      });
      read = shown().length;
      input.write(`${line}\r`);
    },
  };
}
