import { whenForgotten } from '../../src/worker/lost-data';

beforeEach(() => jest.useFakeTimers());
afterEach(() => jest.useRealTimers());

it.each<[string, (string[] | Error)[], Error | undefined, RegExp[]]>([
  ['a server that knows all', [[], []], undefined, []],
  ['a server that gives no answer', [new Error('gone'), []], undefined, []],
  ['a server that has lost its data', [['CountersignState'], []], undefined, [/set up for new turns/]],
  [
    'a server that lets nobody set it up',
    [['CountersignState'], []],
    new Error('no'),
    [/has lost its data/, /could not be set up: no/],
  ],
])(
  'looks again and again, and sets up %s only if it has forgotten',
  async (_what, looks, refusal, expected) => {
    const lines: string[] = [];
    const setUp = jest.fn(async () => {
      if (refusal !== undefined) throw refusal;
    });
    const look = async (): Promise<string[]> => {
      const next = looks.shift() ?? [];
      if (next instanceof Error) throw next;
      return next;
    };
    const end = whenForgotten({ look, setUp, warn: (line) => lines.push(line) });
    await jest.advanceTimersByTimeAsync(60_000);
    end();
    expect(setUp).toHaveBeenCalledTimes(expected.length === 0 ? 0 : 1);
    expect(lines).toEqual(expected.map((line) => expect.stringMatching(line)));
  },
);
