import fc from 'fast-check';
import type { JsonObject } from '../../src/contract/json';
import { covers } from '../../src/authority/grants/covers';
import { exactly, narrowingProblem } from '../../src/authority/grants/narrowing';
import { Hono } from 'hono';
import type { GrantSeen } from '../../src/client';
import type { CallView } from '../../src/history/view-types';
import type { Env } from '../../src/server/deps';
import { grantsRoutes, wideningsOf } from '../../src/server/grant-routes';
import type { InboxFeed } from '../../src/server/inbox-feed';
import type { Reader } from '../../src/server/visible-turns';
import { EVERYTHING } from '../../src/authority/rules/permits';
import { call, inboxItem, request, turn } from '../cli/support';
import '../support/properties';

const ANY = { is: 'glob', glob: '**' };

test.each<[string, JsonObject, object[]]>([
  ['a word', { at: 'ann' }, [ANY]],
  ['a path', { at: 'src/web/a.ts' }, [{ is: 'prefix', prefix: 'src/web/' }, ANY]],
  ['a URL', { at: 'https://a.example/b/c?d=/e' }, [{ is: 'prefix', prefix: 'https://a.example/b/' }, ANY]],
  ['a path that climbs', { at: '../a/b' }, [ANY]],
  ['a number', { at: 50 }, [{ is: 'range', min: 0, max: 50 }]],
  ['a number below 0', { at: -1 }, []],
  ['a truth', { at: true }, []],
  ['a list', { at: ['a'] }, []],
  ['what a program runs', { command: 'ls' }, []],
])('of %s, the narrowest is first', (_, args, wider) => {
  const [name = ''] = Object.keys(args);
  expect(wideningsOf(args)).toEqual({ [name]: [exactly(args)[name], ...wider] });
});

test('whatever the arguments are, each suggestion is one that a grant may have, and covers the call', () => {
  const args = fc.dictionary(
    fc.constantFrom('a', 'path', 'command', '__proto__', 'sql'),
    fc.oneof(
      fc.jsonValue(),
      fc.domain().map((host) => `https://${host}/a?b#c`),
      fc.string().map((text) => `a/${text}/b`),
    ),
  );
  fc.assert(
    fc.property(args, (drawn) => {
      const given: JsonObject = JSON.parse(JSON.stringify(drawn));
      for (const [name, conditions] of Object.entries(wideningsOf(given)))
        for (const condition of conditions) {
          const narrowing = { ...exactly(given), [name]: condition };
          expect(narrowingProblem(narrowing)).toBeUndefined();
          expect(covers(narrowing, given)).toBe(true);
        }
    }),
  );
});

describe('what waits and fits a grant', () => {
  const id = '0a1b2c3d-0000-4000-8000-000000000001';
  const narrowing = { ...exactly({ amount: 10, to: 'ann' }), amount: { is: 'range', min: 0, max: 20 } };
  const grant: GrantSeen = JSON.parse(JSON.stringify({ id, agent: 'clerk', tool: 'pay', narrowing }));
  const asks = (args: JsonObject, more: object = {}): CallView =>
    call({ request: { ...request(), arguments: args, ...more } });
  const waiting: Record<string, CallView> = {
    'as the model asked': asks({ amount: 20, to: 'ann' }),
    'over the range': asks({ amount: 21, to: 'ann' }),
    'of another argument': asks({ amount: 5, to: 'eve' }),
    'edited by a person': asks({ amount: 5, to: 'ann' }, { edit: { approver: 'bob' } }),
    'of a tool without grants': asks({ amount: 5, to: 'ann' }, { grants: 'none' }),
    'decided meanwhile': { ...asks({ amount: 5, to: 'ann' }), phase: 'running' },
  };
  const asked: unknown[] = [];

  const standIn = <T extends object>(source: object): T =>
    new Proxy<T>(Object.create(null), { get: (_, name) => Reflect.get(source, name) });
  const reader = standIn<Reader>({
    grants: { list: async () => ({ grants: [grant] }) },
    view: async (named: string) => {
      const found = waiting[named];
      if (found === undefined) throw new Error('it cannot be read');
      return turn([found]);
    },
  });
  const feed = standIn<InboxFeed>({
    page: async (query: object) => {
      asked.push(query);
      return { rows: [...Object.keys(waiting), 'unreadable'].map((named) => inboxItem({ turn: named })) };
    },
  });

  const fits = async (grantId: string): Promise<Response> => {
    const app = new Hono<Env>();
    app.use(async (c, next) => {
      c.set('reader', reader);
      c.set('permit', EVERYTHING);
      await next();
    });
    app.onError((error, c) => c.text(error.message, 404));
    app.route('/', grantsRoutes({ feed, grantSigner: undefined, grantPasskeys: undefined }));
    return app.request(`/${grantId}/fits`);
  };

  test('is what the grant would have let run, of its agent and tool', async () => {
    expect(await (await fits(id)).json()).toEqual([inboxItem({ turn: 'as the model asked' })]);
    expect(asked).toEqual([{ agent: 'clerk', tool: 'pay', limit: 50 }]);
  });

  test('of no grant is not found', async () => {
    expect((await fits('0a1b2c3d-0000-4000-8000-000000000009')).status).toBe(404);
  });
});
