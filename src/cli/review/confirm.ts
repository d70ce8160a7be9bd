import type { Screen } from '../print/screen';
import type { Terminal } from './terminal';

/** One possible answer: its keys, of which the first is shown, and its effect. */
export interface KeyChoice<T extends string> {
  means: T;
  keys: readonly string[];
  does: string;
}

/** Asks until the answer is one of the choices. `?` and Enter alone list the effect of each choice. */
export async function choose<T extends string>(
  terminal: Pick<Terminal, 'ask'>,
  question: string,
  choices: readonly KeyChoice<T>[],
  screen: Pick<Screen, 'lines'>,
): Promise<T> {
  const keys = choices.flatMap(({ keys: [first = ''] }) => first);
  for (;;) {
    const said = (await terminal.ask(`${question} [${[...keys, '?'].join(',')}]? `)).trim().toLowerCase();
    const chosen = choices.find((choice) => choice.keys.includes(said));
    if (chosen) return chosen.means;
    screen.lines(choices.map(({ keys: [first = ''], does }) => `${first.padEnd(2)} ${does}`));
  }
}

/** Asks for a yes. Every other answer counts as a no, including Enter alone. */
export async function confirm(terminal: Pick<Terminal, 'ask'>, question: string): Promise<boolean> {
  const said = (await terminal.ask(`${question} [y/N] `)).trim().toLowerCase();
  return said === 'y' || said === 'yes';
}

/** Asks for the whole word `yes`, for effects that are easily overlooked. */
export async function confirmInFull(terminal: Pick<Terminal, 'ask'>, question: string): Promise<boolean> {
  return (await terminal.ask(`${question} Type yes to go on: `)).trim().toLowerCase() === 'yes';
}

/** Asks until the answer is not empty. */
export async function askUntilAnswered(terminal: Pick<Terminal, 'ask'>, question: string): Promise<string> {
  for (;;) {
    const said = (await terminal.ask(question)).trim();
    if (said !== '') return said;
  }
}
