import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { answerLine, reportAnswer } from '../../../src/cli/answer';
import { planLines } from '../../../src/cli/batch';
import { compareLines } from '../../../src/cli/commands/fork';
import { eventLines } from '../../../src/cli/print/event';
import { changeLine, inboxLines } from '../../../src/cli/print/inbox';
import { momentLines, timelineLines } from '../../../src/cli/print/timeline';
import { callLines, pendingLines } from '../../../src/cli/print/turn';
import { replayFindingLines } from '../../../src/cli/commands/replay';
import { resetLines } from '../../../src/cli/commands/reset';
import { createScreen, createStyle } from '../../../src/cli/print/screen';
import { statsLines } from '../../../src/cli/commands/stats';
import { errorLines } from '../../../src/cli/report-error';
import { createContext } from '../../../src/cli/context';
import type { Refused } from '../../../src/contract/decision';
import { CountersignError } from '../../../src/contract/errors';
import type { InboxItem } from '../../../src/client';
import type { TurnEvent } from '../../../src/history/events';
import { turnEventsOfJson } from '../../../src/history/exported';
import { stateAfter } from '../../../src/history/moment';
import { timelineOf } from '../../../src/history/timeline';
import { viewOf } from '../../../src/history/view';
import { AT, call, NOW, request, testScreen } from '../support';
import { runs } from '../../support/properties';
import { statsOf } from '../../history/script';

/** Whatever a terminal would obey or turn, line ends too. */
const RAW = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u;

const UNITS = [
  '\x1b[2J',
  '\x1b]0;pwned\x07',
  '\x9b2J',
  '\r',
  '\n',
  '\t',
  '\u202e',
  '\u2066',
  '\u2028',
  '\u200b',
];
const SHELL = ["'", '"', '`id`', '$(id)', '; id #', ' ', '\\', '!', '|', '*', '{a,b}', '=', '~', 'a'];
const hostile = fc.string({ unit: fc.constantFrom(...UNITS, ...SHELL), minLength: 1, maxLength: 12 });

/** Words that are ours by the types: nobody else can put others there. Times too, which are read as such. */
const OURS =
  /^(type|kind|status|phase|safety|effect|world|outcome|decision|resolution|origin|dry|encoding|changed)$|At$|^at$/;

/** Events with hostile text around every text in them, names of arguments included; what is the same stays the same. */
function poisoned(events: readonly TurnEvent[], text: string): TurnEvent[] {
  return JSON.parse(JSON.stringify(events), (key, value) => {
    if (typeof value === 'string') return OURS.test(key) ? value : `${text}${value}${text}`;
    if (key !== 'arguments' || typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([name, item]) => [name + text, item]));
  });
}

const directory = join(__dirname, '../../histories');
const recorded = readdirSync(directory).map((name) => readFileSync(join(directory, name), 'utf8'));

/** Every way to print what a turn's events hold. */
function printed(events: readonly TurnEvent[], command: (args: string) => string): string[] {
  const place = { screen: testScreen(100), now: NOW, command };
  const view = viewOf(events);
  return [
    ...events.flatMap((event) => eventLines(event, place.screen)),
    ...timelineLines(timelineOf(events), place),
    ...momentLines(stateAfter(events, Math.ceil(events.length / 2)), place),
    ...view.calls.flatMap((one) => callLines(one, { ...place, turn: view.turn })),
    ...statsLines(statsOf([events]), place.screen),
  ];
}

it('leaves nothing raw of what a turn holds, whatever that is', async () => {
  const turns = await Promise.all(recorded.map((text) => turnEventsOfJson(text)));
  expect(turns.flat().length).toBeGreaterThan(100);
  fc.assert(
    fc.property(hostile, fc.constantFrom(...turns), (text, events) => {
      const lines = printed(poisoned(events, text), (args) => args);
      expect(lines.filter((line) => RAW.test(line))).toEqual([]);
      expect(lines.length).toBeGreaterThan(5);
    }),
    { numRuns: runs(150) },
  );
});

const itemOf = (text: string): InboxItem => ({
  kind: 'request',
  turn: `refund-${text}`,
  callId: `1.1${text}`,
  tool: `pay${text}`,
  agent: text,
  summary: `1.1${text} pay ${text}`,
  since: AT,
  deadline: null,
  callKey: `key${text}`,
  prompt: text,
});

it('leaves nothing raw of items, answers, plans, findings and errors', () => {
  fc.assert(
    fc.property(hostile, (text) => {
      const screen = testScreen(120);
      const item = itemOf(text);
      const context = { screen: { ...screen, isTerminal: true }, command: (args: string) => args };
      const id = `${item.turn}/${item.callId}`;
      const accepted = {
        accepted: true,
        callId: text,
        decision: 'approved',
        approver: text,
        at: AT,
        decisionId: text,
      } as const;
      const refused = {
        accepted: false,
        callId: text,
        code: 'stale_args',
        message: text,
        issues: [{ path: text, message: `x${text}` }],
      } satisfies Refused;
      reportAnswer({ status: 'accepted', verdict: accepted }, { id, json: false }, screen);
      reportAnswer({ status: 'recorded', decisionId: text }, { id, json: false }, screen);
      const style = createStyle(false);
      const errors = [
        thrownBy(() => reportAnswer({ status: 'refused', verdict: refused }, { id, json: false }, screen)),
        new CountersignError('not_found', `no turn ${id}`, { hint: id }),
        new Error(text),
      ].flatMap((error) => errorLines(error, { style, debug: true, typed: (text) => text }));
      const wish = { decision: 'approved', where: undefined, now: NOW } as const;
      const plan = { planned: [{ item, call: call(), request: request() }], leftOut: [{ item, why: 'x' }] };
      const finding = {
        kind: 'other',
        eventId: 3,
        callId: text,
        history: text,
        code: text,
        message: text,
      } as const;
      const path = {
        step: 1,
        left: { text, model: text, calls: [] },
        right: {
          text,
          model: text,
          calls: [
            {
              callId: text,
              tool: text,
              arguments: { [text]: text },
              outcome: 'done',
              content: text,
            } as const,
          ],
        },
        same: false,
      };
      const end = {
        left: { status: 'answered', answer: text } as const,
        right: { status: 'failed', error: text } as const,
        same: false,
      };
      const lines = [
        ...inboxLines([item], context, NOW),
        changeLine({ change: 'new', item }, AT, screen),
        ...planLines(plan, wish, screen),
        answerLine({ status: 'refused', verdict: refused }, `${item.turn}/${item.callId}`, style),
        ...replayFindingLines({ turn: text, runId: text, events: 3, finding }, screen),
        ...resetLines(
          {
            turn: text,
            before: text,
            runId: text,
            taskEventId: 1,
            lastEventId: 2,
            calls: [{ callId: text, tool: text, effect: 'pure', ran: true, outcome: 'starts' }],
          },
          screen,
        ),
        ...compareLines({ of: text, fork: text, from: text, world: 'dry', steps: [path], end }, screen),
        ...pendingLines(
          {
            failingTask: { attempt: 2, reason: text },
            idleQueues: [text],
            activities: [
              {
                what: 'call',
                name: text,
                callId: text,
                state: 'started',
                taskQueue: text,
                attempt: 2,
                maximumAttempts: 0,
                lastFailure: text,
                worker: text,
              },
            ],
          },
          NOW,
        ),
        ...screen.printed,
        ...errors,
      ];
      expect(lines.filter((line) => RAW.test(line))).toEqual([]);
    }),
    { numRuns: runs(150) },
  );
});

function thrownBy(act: () => void): unknown {
  try {
    act();
  } catch (error) {
    return error;
  }
  throw new Error('nothing was thrown');
}

it('pastes as it is meant: every id in a command is one word, and the right one', () => {
  const ids = fc.array(hostile, { minLength: 5, maxLength: 20 });
  fc.assert(
    fc.property(ids, (texts) => {
      const commands = texts.flatMap((text) => {
        const { turn, callId } = itemOf(text);
        const screen = { ...testScreen(200), isTerminal: true };
        const said: string[] = [];
        const { command } = createContext({
          screen,
          env: {},
          keyboard: undefined,
          options: () => ({ namespace: text }),
          typed: (sentence) => sentence,
          exitWith: () => undefined,
        });
        const keep = (args: string): string =>
          command(args).replace(/^/, () => (said.push(command(args)), ''));
        inboxLines([itemOf(text)], { screen, command: keep }, NOW);
        callLines(call({ request: request({ callId }) }), { turn, screen, now: NOW, command: keep });
        return said.map((line) => ({ line, wanted: [`${turn}/${callId}`, text] }));
      });
      expect(commands.length).toBeGreaterThanOrEqual(texts.length * 3);
      const words = wordsOf(commands.map(({ line }) => line));
      for (const [at, { wanted }] of commands.entries())
        expect([words[at]?.[3], words[at]?.at(-1)]).toEqual(wanted);
      expect(commands.filter(({ line }) => RAW.test(line))).toEqual([]);
    }),
    { numRuns: runs(20) },
  );
});

/** What bash makes of lines: their words. */
function wordsOf(lines: readonly string[]): string[][] {
  const script = lines.map((line) => `printf '%s\\0' ${line}; printf 'end of line\\0'`).join('\n');
  const out = execFileSync('bash', ['-c', script], {
    encoding: 'utf8',
    env: { ...process.env, LC_ALL: 'C.UTF-8' },
  });
  return out
    .split('end of line\0')
    .slice(0, -1)
    .map((part) => part.split('\0').slice(0, -1));
}

describe('the last door', () => {
  const written = (color: boolean, text: string): string => {
    const all: string[] = [];
    const sink = { write: (one: string) => void all.push(one) };
    const screen = createScreen(sink, sink, color ? { FORCE_COLOR: '1' } : {});
    screen.line(text);
    screen.note(text);
    screen.lines([text]);
    expect(new Set(all).size).toBe(1);
    return all[0] ?? '';
  };

  it.each([false, true])('lets nothing raw through, with colours: %s', (color) => {
    fc.assert(
      fc.property(hostile, (text) => {
        expect(written(color, text)).toMatch(/^[^\p{Cc}\p{Cf}\p{Zl}\p{Zp}]*\n$/u);
      }),
    );
  });

  it('keeps our own colours, and those alone', () => {
    const { good, strong, mark } = createStyle(true);
    const line = `${good('a')} ${strong(mark('b'))}`;
    expect(written(true, line)).toBe(`${line}\n`);
    expect(written(true, 'x\x1b[8my\x1b[41mz')).toBe('x\\x1b[8my\\x1b[41mz\n');
    expect(written(false, good('a') + line)).not.toContain('\x1b');
  });
});
