import { Countersign } from '../../src/client/countersign';
import { createReaders, type Reader } from '../../src/server/visible-turns';

/** The operations that one person may use, and no others. */
const OPEN = [
  ...['abandon', 'agentsOf', 'answer', 'cancel', 'changedTools', 'decide', 'find', 'follow', 'fork', 'list'],
  ...['pendingActivities', 'placeOf', 'resolve', 'session', 'sessions', 'timeline', 'turns', 'view'],
];
/** Of these, those that list. */
const LISTS = ['list', 'sessions', 'turns'];
/** Of these, those that are not about one turn that they name first. */
const OTHERS = [...LISTS, 'placeOf', 'fork', 'session'];

const OPERATIONS = Object.getOwnPropertyNames(Countersign.prototype).filter((name) => name !== 'constructor');

/** What was asked of a client whose every turn is of the agent `hers`. */
const asked: [string, unknown[]][] = [];
const answers: Record<string, unknown> = {
  agentsOf: { agent: 'hers' },
  list: { grants: [{ id: 'g', agent: 'hers' }] },
  state: { agent: 'hers' },
};
const recorded = (): object =>
  new Proxy(
    { namespace: 'default' },
    {
      get: (target, name: string) =>
        Reflect.get(target, name) ??
        (name === 'grants' || name === 'schedules'
          ? recorded()
          : (...given: unknown[]) => {
              asked.push([name, given]);
              return name === 'session' ? recorded() : Promise.resolve(answers[name]);
            }),
    },
  );
const readerFor = (agents: 'all' | string[]): Reader =>
  createReaders(new Proxy<Reader>(Object.create(null), { get: (_, name) => Reflect.get(recorded(), name) }))({
    agents,
  });

/** Calls a member, whatever its type says. */
const run = async (reader: object, name: string, ...given: unknown[]): Promise<unknown> => {
  const member: unknown = Reflect.get(reader, name);
  if (typeof member !== 'function') throw new Error(`${name} cannot be reached`);
  const answer: unknown = await Reflect.apply(member, reader, given);
  if (typeof answer !== 'object' || answer === null || !(Symbol.asyncIterator in answer)) return answer;
  return run(answer, 'next');
};

beforeEach(() => {
  asked.length = 0;
});

it.each([[['his']], [undefined]])(
  'reaches the listed operations and no others, for a person who sees %j, where none stands for all',
  (agents) => {
    const reader = readerFor(agents ?? 'all');
    expect(OPERATIONS.filter((name) => Reflect.get(reader, name) !== undefined).sort()).toEqual(OPEN);
    const fields = ['client', 'context', 'end', 'schedules', 'namespace', 'grants'];
    expect(fields.filter((name) => Reflect.get(reader, name) !== undefined)).toEqual(['namespace', 'grants']);
    const ofGrants = ['plan', 'coverage', 'give', 'confirm', 'list', 'revoke'];
    expect(ofGrants.filter((name) => Reflect.get(reader.grants, name) !== undefined)).toEqual(
      ofGrants.slice(2),
    );
  },
);

it.each(OPEN.filter((name) => !OTHERS.includes(name)))(
  'asks for the agents of a turn before `%s`, which does not run for a person who may not see them',
  async (name) => {
    await expect(run(readerFor(['his']), name, 'turn-1', {})).rejects.toMatchObject({
      code: 'not_found',
    });
    expect(asked).toEqual([['agentsOf', ['turn-1']]]);
  },
);

it.each(OPEN.filter((name) => ![...OTHERS, 'find'].includes(name)))(
  'runs `%s` for a person who may see the agents',
  async (name) => {
    await run(readerFor(['hers']), name, 'turn-1', {}).catch(() => undefined);
    expect(asked.map(([what]) => what)).toEqual(['agentsOf', name]);
    expect(asked.at(-1)?.[1][0]).toBe('turn-1');
  },
);

it('forks only a turn that is named and may be seen', async () => {
  const reader = readerFor(['his']);
  await expect(run(reader, 'fork', { history: {}, at: '1' })).rejects.toMatchObject({ code: 'usage' });
  await expect(run(reader, 'fork', { turn: 'turn-1', at: '1' })).rejects.toMatchObject({
    code: 'not_found',
  });
  expect(asked).toEqual([['agentsOf', ['turn-1']]]);
});

it.each(LISTS)(
  'narrows `%s` to the agents that a person sees, whatever the question asks for',
  async (name) => {
    await run(readerFor(['his']), name, { agents: ['hers'] });
    expect(asked).toEqual([[name, [{ agents: ['his'] }]]]);
  },
);

it.each(['send', 'follow', 'followWithText', 'history', 'pause', 'resume', 'cancelTurn', 'compact', 'close'])(
  'asks for the agent of a conversation before `%s`',
  async (name) => {
    const session = readerFor(['his']).session('session-1');
    await expect(run(session, name, {})).rejects.toMatchObject({ code: 'not_found' });
    expect(asked.map(([what]) => what)).toEqual(['session', 'state']);
  },
);
