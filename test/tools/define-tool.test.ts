import { z } from 'zod';
import { digestJson } from '../../src/contract/digest';
import { CountersignError } from '../../src/contract/errors';
import type { JsonObject } from '../../src/contract/json';
import { LIMITS, TIMES } from '../../src/contract/limits';
import { checkSchema } from '../../src/contract/schema/schema';
import { defineTool, inPlace } from '../../src/tools/define-tool';
import { makeContext } from '../../src/tools/context';
import type { Classified } from '../../src/tools/types';

const facts = { callId: '1.1', tool: 'echo', idempotencyKey: 'key' };
const context = makeContext(facts, {}, { signal: new AbortController().signal });

const valid = {
  name: 'echo',
  description: 'Says it again.',
  parameters: [{ name: 'text', type: 'string' as const }],
  handler: (args: unknown): unknown => args,
};

/** Definitions as JavaScript gives them, past the compiler. */
function define(changes: object): unknown {
  return Reflect.apply(defineTool, undefined, [{ ...valid, ...changes }]);
}

function failureOf(run: () => unknown): CountersignError {
  try {
    run();
  } catch (error) {
    if (error instanceof CountersignError) return error;
    throw error;
  }
  throw new Error('it did not throw');
}

describe('defaults', () => {
  it('fills in every one', () => {
    expect(defineTool(valid)).toMatchObject({
      name: 'echo',
      safety: 'safe',
      effect: 'pure',
      categories: [],
      timeoutMs: TIMES.toolTimeout,
      heartbeatMs: TIMES.heartbeatTimeout,
      retry: { maximumAttempts: 5, initialIntervalMs: 1000, backoffCoefficient: 2 },
      taskQueue: undefined,
      local: false,
      state: 'call',
      stateGroup: 'echo',
      requestExpiresMs: TIMES.requestExpires,
      startWithinMs: TIMES.startWithin,
      noBatch: false,
      outputLimit: LIMITS.outputBytes,
      server: 'local',
      preview: undefined,
      verify: undefined,
    });
  });

  it.each([
    ['safe', 'pure', 5],
    ['cautious', 'unsafe', 1],
    ['dangerous', 'unsafe', 1],
  ] as const)('a %s tool is %s with %i attempts', (safety, effect, maximumAttempts) => {
    expect(defineTool({ ...valid, safety })).toMatchObject({ effect, retry: { maximumAttempts } });
  });

  it.each<[string, object, object]>([
    ['none', {}, { state: 'call', stateGroup: valid.name }],
    ['its own', { state: 'turn' }, { state: 'turn', stateGroup: valid.name }],
    ['that of a group', { state: 'turn', stateGroup: 'memory' }, { state: 'turn', stateGroup: 'memory' }],
    ['that of its session', { state: 'session' }, { state: 'session', stateGroup: valid.name }],
    ['that of all turns', { state: 'worker', shared: true }, { state: 'worker', stateGroup: valid.name }],
  ])('a tool has %s of the state of others, and people approve the same tool', (_, options, expected) => {
    const tool = defineTool({ ...valid, ...options });
    expect(tool).toMatchObject(expected);
    expect(tool.digest).toBe(defineTool(valid).digest);
  });

  it('a local tool has the longest time it may have', () => {
    expect(defineTool({ ...valid, local: true }).timeoutMs).toBe(TIMES.localTimeout);
  });

  it('reads durations as text and as milliseconds, and never', () => {
    const tool = defineTool({
      ...valid,
      timeout: '2 minutes',
      heartbeat: 3000,
      requestExpires: 'never',
      startWithin: '1d',
    });
    expect(tool).toMatchObject({
      timeoutMs: 120_000,
      heartbeatMs: 3000,
      requestExpiresMs: null,
      startWithinMs: 86_400_000,
    });
  });
});

describe('wrong definitions', () => {
  it.each<[string, object, RegExp]>([
    ['a name that is not snake_case', { name: 'readFile' }, /`readFile`.*snake_case/],
    ['an empty name', { name: '' }, /without a name.*`name`/],
    ['a name that is no text', { name: 7 }, /without a name/],
    ['a name with a dot, as ours have', { name: 'countersign.think' }, /snake_case/],
    ['a reserved name', { name: 'default' }, /`default`.*reserved/],
    ['a name too long', { name: 'a'.repeat(65) }, /at most 63/],
    ['an empty description', { description: ' ' }, /`description` must say/],
    ['no description', { description: undefined }, /`description`/],
    ['no parameters', { parameters: undefined }, /`parameters` must be/],
    ['parameters that are text', { parameters: 'text' }, /`parameters` must be/],
    ['no handler', { handler: undefined }, /`handler` must be a function/],
    ['a preview that is no function', { preview: 'x' }, /`preview` must be a function/],
    ['a classify that is no function', { classify: 'safe' }, /`classify` must be a function/],
    ['an option that does not exist', { saftey: 'safe' }, /saftey/],
    ['an unknown safety', { safety: 'harmless' }, /`safety`/],
    ['an unknown effect', { effect: 'none' }, /`effect`/],
    ['a time that is none', { timeout: 'soon' }, /`timeout` 'soon' is not a time/],
    ['an empty time', { timeout: '' }, /`timeout` '' is not a time/],
    ['a negative time', { timeout: -1 }, /`timeout` -1 is too short/],
    ['a time of NaN', { timeout: Number.NaN }, /`timeout`/],
    ['a time over what timers hold', { timeout: '25d' }, /`timeout` is at most 24 days/],
    [
      'a request that never ends but says otherwise',
      { requestExpires: '100y' },
      /`requestExpires` '100y' is too long/,
    ],
    ['a heartbeat too quick', { heartbeat: 10 }, /`heartbeat` 10 is too short/],
    ['an output limit over the most', { outputLimit: LIMITS.outputBytesMost + 1 }, /`outputLimit`/],
    ['an output limit of nothing', { outputLimit: 0 }, /`outputLimit`/],
    [
      'retry of an unsafe tool',
      { safety: 'dangerous', retry: { maximumAttempts: 2 } },
      /`retry`: an unsafe tool/,
    ],
    ['no attempts', { retry: { maximumAttempts: 0 } }, /`retry.maximumAttempts`/],
    ['local and unsafe', { local: true, effect: 'unsafe' }, /`local` is for pure tools/],
    ['local and idempotent', { local: true, effect: 'idempotent' }, /`local` is for pure tools/],
    [
      'local and dangerous',
      { local: true, safety: 'dangerous', effect: 'pure' },
      /`local` is not for dangerous/,
    ],
    ['local and slow', { local: true, timeout: '6s' }, /`local` tools need a timeout/],
    ['local and with state', { local: true, state: 'turn' }, /`local` and `state` exclude each other/],
    ['state that all turns see', { state: 'worker' }, /say `shared: true`/],
    ['state of a session that all see', { state: 'session', shared: true }, /`shared` goes with/],
    ['state of a turn that all turns see', { state: 'turn', shared: true }, /`shared` goes with/],
    ['a group without state', { stateGroup: 'memory' }, /`stateGroup` needs a `state`/],
    ['a group without a name', { state: 'turn', stateGroup: '' }, /`stateGroup`/],
    ['local elsewhere', { local: true, taskQueue: 'gpu' }, /exclude each other/],
    ['an empty queue', { taskQueue: '' }, /`taskQueue`/],
    [
      'a required parameter that is not there',
      { required: ['txet'] },
      /required parameter txet is not among/,
    ],
    [
      'a parameter twice',
      { parameters: [...valid.parameters, ...valid.parameters] },
      /`text` is there twice/,
    ],
    ['a parameter of no known type', { parameters: [{ name: 'a', type: 'date' }] }, /parameters\.0\.type/],
    ['a parameter without a name', { parameters: [{ type: 'string' }] }, /parameters\.0\.name/],
    [
      'a parameter named __proto__',
      { parameters: [{ name: '__proto__', type: 'string' }] },
      /parameters\.0\.name/,
    ],
    ['required with zod', { parameters: z.object({}), required: [] }, /plain list of parameters only/],
    ['zod that is no object', { parameters: z.string() }, /z\.object/],
    ['zod 3', { parameters: { _def: {} } }, /zod 4/],
    [
      'zod without a JSON Schema form',
      { parameters: z.object({ at: z.date() }) },
      /no JSON Schema form.*z\.date/,
    ],
    ['a schema without an object at its root', { parameters: { type: 'string' } }, /`type: "object"`/],
    ['an empty schema', { parameters: {} }, /`type: "object"`/],
    ['a schema with a function', { parameters: { type: 'object', x: () => 1 } }, /plain JSON/],
    [
      'a schema that requires what is not there',
      { parameters: { type: 'object', required: ['a'] } },
      /required parameter a/,
    ],
    ['required that is no list', { parameters: { type: 'object', required: 'a' } }, /list of names/],
    ['properties that are a list', { parameters: { type: 'object', properties: [] } }, /`properties`/],
    [
      'a broken pattern',
      { parameters: { type: 'object', properties: { a: { type: 'string', pattern: '(' } } } },
      /pattern \( is not a regular expression/,
    ],
    [
      'a pattern that looks around',
      { parameters: { type: 'object', properties: { a: { type: 'string', pattern: '^(?!b)a' } } } },
      /linear time/,
    ],
    [
      'a pattern of names that looks back',
      { parameters: { type: 'object', patternProperties: { '(a)\\1': {} } } },
      /linear time/,
    ],
    ['a reference elsewhere', { parameters: { type: 'object', $ref: 'http://x/y' } }, /outside the schema/],
    [
      'a dead reference',
      { parameters: { type: 'object', properties: { a: { $ref: '#/$defs/a' } } } },
      /leads nowhere/,
    ],
  ])('%s', (_, changes, message) => {
    const error = failureOf(() => define(changes));
    expect(error.code).toBe('config_invalid');
    expect(error.message).toMatch(message);
    expect(error.hint).toBeDefined();
  });

  it.each([[undefined], [null], [7], ['echo']])('%p in place of options', (options) => {
    expect(failureOf(() => Reflect.apply(defineTool, undefined, [options])).code).toBe('config_invalid');
  });
});

describe('schema and digest', () => {
  const zod = z.object({ text: z.string().describe('what to say'), times: z.int().default(1) });
  const json = {
    type: 'object',
    properties: { text: { type: 'string' }, times: { type: 'integer', default: 1 } },
    required: ['text'],
  };

  it('a plain list refuses what it does not name', () => {
    const tool = defineTool({ ...valid, required: ['text'] });
    expect(tool.schema).toEqual({
      type: 'object',
      properties: { text: { type: 'string' } },
      required: ['text'],
      additionalProperties: false,
    });
    expect(tool.parse({ text: 'a', more: 1 })).toMatchObject({ ok: false });
  });

  it.each([
    ['at the top', z.object({ a: z.string() }), { a: 'x', extra: 1 }, '/extra'],
    [
      'deep inside',
      z.object({ a: z.array(z.object({ b: z.string() })) }),
      { a: [{ b: 'x', extra: 1 }] },
      '/a/0/extra',
    ],
  ])(
    'refuses a key that z.object would drop, %s: what is approved is what runs',
    (_, parameters, args, path) => {
      const parsed = defineTool({ ...valid, parameters }).parse(args);
      expect(parsed).toMatchObject({ ok: false, issues: [{ path, message: 'is not a known property' }] });
    },
  );

  it('keeps the keys of a loose object', () => {
    const tool = defineTool({ ...valid, parameters: z.looseObject({ a: z.string() }) });
    expect(tool.parse({ a: 'x', extra: 1 })).toEqual({ ok: true, value: { a: 'x', extra: 1 } });
  });

  it.each([
    ['duration', z.iso.duration(), 'P1D', 'P1W1D'],
    ['host name', z.hostname(), 'a.example', 'a_b'],
    ['e-mail address', z.email(), 'a@example.org', 'a@'],
  ])('a zod format whose pattern looks around is checked all the same: %s', (_, schema, good, bad) => {
    const tool = defineTool({ ...valid, parameters: z.object({ a: schema }) });
    expect(tool.parse({ a: good }).ok).toBe(true);
    expect(tool.parse({ a: bad }).ok).toBe(false);
  });

  it('zod becomes plain JSON Schema of its input', () => {
    const { schema } = defineTool({ ...valid, parameters: zod });
    expect(JSON.parse(JSON.stringify(schema))).toEqual(schema);
    expect(schema).toMatchObject({
      type: 'object',
      required: ['text'],
      properties: { times: { default: 1 } },
    });
    expect(schema).not.toHaveProperty('$schema');
  });

  it('a JSON Schema is copied, not held', () => {
    const given = structuredClone(json);
    const tool = defineTool({ ...valid, parameters: given });
    given.properties.text.type = 'number';
    expect(tool.schema).toEqual(json);
  });

  it('the schema can still be checked against by others', () => {
    expect(checkSchema(defineTool({ ...valid, parameters: json }).schema, { text: 'a' })).toEqual([]);
  });

  it('the digest covers name, description, schema, safety and effect, and nothing else', () => {
    const { name, description, schema, safety, effect, digest } = defineTool(valid);
    expect(digest).toBe(digestJson({ name, description, schema, safety, effect }));
    expect(defineTool({ ...valid, timeout: 1, categories: ['x'], handler: () => 1 }).digest).toBe(digest);
  });

  it.each<[string, object]>([
    ['name', { name: 'echo2' }],
    ['description', { description: 'Other.' }],
    ['schema', { required: ['text'] }],
    ['safety', { safety: 'cautious', effect: 'pure' }],
    ['effect', { effect: 'idempotent' }],
  ])('another %s is another digest', (_, changes) => {
    expect(define(changes)).not.toMatchObject({ digest: defineTool(valid).digest });
  });
});

describe('parse', () => {
  const parameters = z.object({
    from: z.int(),
    to: z.int().default(9),
    edits: z.array(z.object({ 'a/b~c': z.string().refine((text) => text !== 'bad', 'is bad') })).optional(),
  });
  const tool = defineTool({
    ...valid,
    parameters: parameters.refine(({ from, to }) => from <= to, {
      path: ['to'],
      message: 'must not be before from',
    }),
  });

  it('fills in defaults and gives what zod returns', () => {
    expect(tool.parse({ from: 1 })).toEqual({ ok: true, value: { from: 1, to: 9 } });
  });

  it('applies defaults of a JSON Schema too', () => {
    const schema = { type: 'object', properties: { n: { type: 'number', default: 3 } }, required: ['n'] };
    expect(defineTool({ ...valid, parameters: schema }).parse({})).toEqual({ ok: true, value: { n: 3 } });
  });

  it('checks the JSON Schema first', () => {
    expect(tool.parse({ from: 'x' })).toEqual({
      ok: false,
      issues: [{ path: '/from', message: expect.any(String) }],
    });
  });

  it.each([
    [{ from: 3, to: 1 }, [{ path: '/to', message: 'must not be before from' }]],
    [{ from: 1, edits: [{ 'a/b~c': 'bad' }] }, [{ path: '/edits/0/a~1b~0c', message: 'is bad' }]],
  ])('zod refinements say where', (args, issues) => {
    expect(tool.parse(args)).toEqual({ ok: false, issues });
  });

  it('never throws, whatever a refinement does', () => {
    const throwing = z.object({}).refine(() => {
      throw new Error('boom');
    });
    expect(defineTool({ ...valid, parameters: throwing }).parse({})).toMatchObject({
      ok: false,
      issues: [{ path: '', message: expect.stringContaining('boom') }],
    });
  });

  it('says the same every time', () => {
    expect(tool.parse({ from: 'x' })).toEqual(tool.parse({ from: 'x' }));
  });
});

describe('functions', () => {
  it('keep their `this`', async () => {
    const tool = defineTool({
      ...valid,
      handler(): string {
        return this.name;
      },
    });
    await expect(tool.handle({}, context)).resolves.toBe('echo');
  });

  it('a handler that throws at once is a rejection', async () => {
    const tool = defineTool({
      ...valid,
      handler: () => {
        throw new Error('no');
      },
    });
    await expect(tool.handle({}, context)).rejects.toThrow('no');
  });

  it('a preview of text becomes a preview', async () => {
    await expect(defineTool({ ...valid, preview: () => 'rm x' }).preview?.({}, context)).resolves.toEqual({
      text: 'rm x',
    });
  });

  it.each<[string, object]>([
    ['preview', { preview: () => 7 }],
    ['verify', { verify: () => ({ outcome: 'perhaps' }) }],
    ['verify', { verify: () => undefined }],
  ])('nonsense from %s is a TypeError', async (name, changes) => {
    const tool = Reflect.apply(defineTool, undefined, [{ ...valid, ...changes }]);
    await expect(
      name === 'preview' ? tool.preview?.({}, context) : tool.verify?.({}, context),
    ).rejects.toThrow(TypeError);
  });

  it('verify answers as the tool says', async () => {
    const tool = defineTool({ ...valid, verify: () => ({ outcome: 'happened', content: 'moved' }) });
    await expect(tool.verify?.({}, context)).resolves.toEqual({ outcome: 'happened', content: 'moved' });
  });

  it('a tool is immutable', () => {
    expect(Object.isFrozen(defineTool(valid))).toBe(true);
  });
});

describe('a tool whose calls differ', () => {
  it.each<[string, () => Classified | undefined, object]>([
    ['no answer', () => undefined, { safety: 'dangerous', effect: 'unsafe' }],
    ['a milder safety', () => ({ safety: 'safe' }), { safety: 'safe', effect: 'unsafe' }],
    ['a milder effect', () => ({ effect: 'pure' }), { safety: 'dangerous', effect: 'pure' }],
    [
      'both',
      () => ({ safety: 'cautious', effect: 'idempotent' }),
      { safety: 'cautious', effect: 'idempotent' },
    ],
    ['nonsense', () => JSON.parse('{"safety":"harmless"}'), { safety: 'dangerous', effect: 'unsafe' }],
    [
      'a promise',
      () => Object(Promise.resolve({ safety: 'safe' })),
      { safety: 'dangerous', effect: 'unsafe' },
    ],
    [
      'a throw',
      () => {
        throw new Error('no');
      },
      { safety: 'dangerous', effect: 'unsafe' },
    ],
  ])('goes by %s', (_, classify, expected) => {
    const tool = defineTool({ ...valid, safety: 'dangerous', classify });
    expect(tool.forCall?.({})).toMatchObject(expected);
  });

  it('retries only what may run again, and keeps its digest', () => {
    const tool = defineTool({ ...valid, safety: 'dangerous', classify: () => ({ effect: 'pure' }) });
    expect(tool.retry.maximumAttempts).toBe(1);
    expect(tool.forCall?.({})).toMatchObject({ digest: tool.digest, retry: { maximumAttempts: 5 } });
  });

  it('keeps the retries that its definition names', () => {
    const retry = { maximumAttempts: 2, initialInterval: '10s' };
    const tool = defineTool({ ...valid, effect: 'idempotent', retry, classify: () => ({ effect: 'pure' }) });
    expect(tool.forCall?.({})).toMatchObject({
      effect: 'pure',
      retry: { maximumAttempts: 2, initialIntervalMs: 10_000 },
    });
  });

  it('is never stricter than its definition', () => {
    const tool = defineTool({ ...valid, classify: () => ({ safety: 'dangerous', effect: 'unsafe' }) });
    expect(tool.forCall?.({})).toMatchObject({ safety: 'safe', effect: 'pure' });
  });

  it('is judged by the definition again where its arguments change', () => {
    const answers = [{ safety: 'safe' as const }, undefined];
    const tool = defineTool({ ...valid, safety: 'dangerous', classify: () => answers.shift() });
    expect(tool.forCall?.({})?.forCall?.({})).toMatchObject({ safety: 'dangerous' });
  });
});

describe('a tool in a place', () => {
  const placed = inPlace(defineTool(valid), { root: '/a' });

  it('is the same tool with another digest', () => {
    const { digest, forCall, ...rest } = defineTool(valid);
    expect(placed).toMatchObject({ name: rest.name, schema: rest.schema, safety: rest.safety });
    expect(placed.digest).not.toBe(digest);
    expect([forCall, placed.forCall]).toEqual([undefined, undefined]);
    expect(Object.isFrozen(placed)).toBe(true);
  });

  it.each<[string, JsonObject, boolean]>([
    ['the same place', { root: '/a' }, true],
    ['another place', { root: '/b' }, false],
    ['a place with more', { root: '/a', sandbox: null }, false],
  ])('%s: equal is %s', (_case, place, isEqual) => {
    expect(inPlace(defineTool(valid), place).digest === placed.digest).toBe(isEqual);
  });

  it('keeps its digest when a call makes it milder, and then again', () => {
    const classify = (): Classified => ({ effect: 'pure' });
    const tool = inPlace(defineTool({ ...valid, safety: 'dangerous', classify }), { root: '/a' });
    const milder = tool.forCall?.({});
    expect(milder).toMatchObject({ effect: 'pure', digest: tool.digest });
    expect(milder?.forCall?.({}).digest).toBe(tool.digest);
  });
});
