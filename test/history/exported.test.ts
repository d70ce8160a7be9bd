import fc from 'fast-check';
import { loadDataConverter } from '@temporalio/common/lib/internal-non-workflow';
import { readFileSync } from 'node:fs';
import type { Payload, PayloadCodec } from '@temporalio/common';
import { historyFromJSON } from '@temporalio/common/lib/proto-utils';
import { makeBundle, parseExport, turnEventsOfJson } from '../../src/history/exported';
import { encryptedExport, exported, exportedText, ofAnotherApplication, withPatch } from './exports';
import { type History, makeDecode } from '../../src/history/decode/decode';
import { viewOf } from '../../src/history/view';
import { ringOf } from '../encryption/ring';
import { CountersignError } from '../../src/contract/errors';
import { createRedactor, keepAll } from '../../src/cli/commands/export';
import { recordedFiles } from '../audit/sample';
import { runs } from '../support/properties';

test.each([
  ['text', exportedText('edited'), 1],
  ['parsed', exported('edited'), 1],
  ['of a turn in two runs', { countersign: 1, runs: [exported('continuing'), exported('continued')] }, 2],
  ['with more in it', { countersign: 1, redacted: ['x'], runs: [exported('plain')] }, 1],
])('reads an export as %s', (_, json, runs) => {
  const parsed = parseExport(json);
  expect(parsed).toHaveLength(runs);
  for (const { events } of parsed) expect(events?.[0]?.eventId?.toString()).toBe('1');
});

const whole = exported('edited');
const without = (at: number) => ({ events: whole.events.filter((_, index) => index !== at) });

test.each<[string, unknown, RegExp]>([
  ['other text', 'not JSON', /not JSON/],
  ['nothing', '', /not JSON/],
  ['half a file', exportedText('edited').slice(0, 5000), /cut off/],
  ['an empty object', '{}', /not an exported history/],
  ['a list', '[]', /not an exported history/],
  ['null', 'null', /not an exported history/],
  ['a number', 7, /not an exported history/],
  ['events that are none', { events: [{}] }, /./],
  ['no list of events', { events: 'x' }, /not an exported history/],
  ['no events', { events: [] }, /no events/],
  ['a gap', without(7), /event 8 is missing/],
  ['no beginning', without(0), /event 1 is missing/],
  ['another beginning', { events: [{ ...whole.events[1], eventId: '1' }] }, /does not start a workflow/],
  ['a gap in the second run', { countersign: 1, runs: [whole, without(3)] }, /event 4 of run 2 is missing/],
  [
    'events after the end',
    { events: [...whole.events, { ...whole.events[4], eventId: '36' }] },
    /after the end/,
  ],
  ['a bundle without runs', { countersign: 1, runs: [] }, /not written by countersign export/],
  ['a bundle of something else', { countersign: 'yes', runs: 'x' }, /not written by countersign export/],
])('%s is not a history, and the error says how to export one', (_, json, message) => {
  expect(() => parseExport(json)).toThrow(
    expect.objectContaining({
      code: 'bad_history',
      message: expect.stringMatching(message),
      hint: expect.stringContaining('temporal workflow show'),
    }),
  );
});

test('a format of a later version is said to be one', () => {
  expect(() => parseExport({ countersign: 2, runs: [{ anything: true }] })).toThrow(
    expect.objectContaining({ code: 'bad_history', message: expect.stringContaining('format 2') }),
  );
});

test('cut anywhere it is refused or is the same', () => {
  const text = exportedText('denied');
  fc.assert(
    fc.property(fc.nat(text.trimEnd().length - 1), (length) => {
      expect(() => parseExport(text.slice(0, length))).toThrow(
        expect.objectContaining({ code: 'bad_history' }),
      );
    }),
    { numRuns: runs(30) },
  );
});

const decodeWith = (keys: string[]) =>
  makeDecode(loadDataConverter(ringOf(keys.length === 0 ? {} : { keys, required: false }).replay()));

test('a turn in two runs is one turn', async () => {
  const runs = [exported('continuing'), exported('continued')];
  const events = await turnEventsOfJson({ countersign: 1, runs });
  expect(events.filter((event) => event.type === 'turn_started')).toHaveLength(2);
  expect(viewOf(events)).toMatchObject({
    status: 'answered',
    answer: 'done',
  });
});

test('a history of another application is none of ours', async () => {
  await expect(turnEventsOfJson(ofAnotherApplication())).rejects.toMatchObject({
    code: 'bad_history',
    message: expect.stringContaining('orderFulfilment'),
    data: { workflowType: 'orderFulfilment' },
  });
});

test('a change of the workflow that this code does not know is of a newer version', async () => {
  await expect(turnEventsOfJson(withPatch('plain', 'two-approvers'))).rejects.toMatchObject({
    code: 'bad_history',
    message: expect.stringContaining('two-approvers'),
  });
});

test('an encrypted history is read with its key and named without it', async () => {
  const { json, key } = await encryptedExport('edited');
  await expect(turnEventsOfJson(json, decodeWith([]))).rejects.toMatchObject({
    code: 'key_missing',
    message: expect.stringContaining('k1'),
  });
  const [started] = await turnEventsOfJson(json, decodeWith([key]));
  expect(started).toMatchObject({ type: 'turn_started', agent: 'edited' });
});

test.each([
  ['not JSON'],
  ['{}'],
  ['[]'],
  ['null'],
  [7],
  [{ events: [{}] }],
  [{ events: 'x' }],
  [{ events: [] }],
])('%j is not a history, and the error says how to export one', async (json) => {
  await expect(turnEventsOfJson(json)).rejects.toMatchObject({
    code: 'bad_history',
    hint: expect.stringContaining('temporal workflow show'),
  });
});

describe('writing an export', () => {
  const options: Parameters<typeof makeBundle>[1] = {
    version: '1.2.3',
    namespace: 'default',
    turn: 't',
    converter: { payloadCodecs: [] },
    rewriter: keepAll,
  };
  const read = (path: string): History[] => parseExport(readFileSync(path, 'utf8'));

  /** How often a secret of an attempt is in a history: where an unsafe call starts, and where it reports its outcome. */
  const attemptSecrets = (runs: readonly History[]): number =>
    runs
      .flatMap(({ events }) => events ?? [])
      .map(
        (event) =>
          event.activityTaskScheduledEventAttributes ?? event.workflowExecutionSignaledEventAttributes,
      )
      .flatMap((attributes) => attributes?.input?.payloads ?? [])
      .filter(({ data }) => Buffer.from(data ?? []).includes('"secret":')).length;

  it.each(recordedFiles)('%s: comes back as it was where nothing is taken out', async (_name, path) => {
    const runs = read(path);
    const bundle = await makeBundle(runs, options);
    expect(bundle).toMatchObject({ countersign: 1, version: '1.2.3' });
    expect(parseExport(JSON.stringify(bundle))).toEqual(runs);
  });

  it.each(recordedFiles)('%s: tells the same turn without its secrets', async (_name, path) => {
    const redactor = createRedactor();
    const bundle = await makeBundle(read(path), { ...options, rewriter: redactor });
    expect(redactor.taken()).toBe(attemptSecrets(read(path)));
    expect(await turnEventsOfJson(bundle)).toEqual(await turnEventsOfJson(readFileSync(path, 'utf8')));
  });

  const encode = (text: string) => new TextEncoder().encode(text);
  const json = (value: unknown): Payload => ({
    metadata: { encoding: encode('json/plain') },
    data: encode(JSON.stringify(value)),
  });
  const SECRET = 'sk-0123456789abcdef0123';
  const time = { seconds: 1, nanos: 0 };

  /** A history with the same secret in every place where words can be. */
  const secretive = (): History => {
    const list = { payloads: [json({ text: SECRET, password: 'hunter2' })] };
    const failure = {
      message: SECRET,
      stackTrace: `at ${SECRET}`,
      encodedAttributes: json({ message: SECRET }),
      applicationFailureInfo: { type: 'x', details: list },
      cause: { message: SECRET, applicationFailureInfo: { type: 'y' } },
    };
    const attributes: object[] = [
      {
        workflowExecutionStartedEventAttributes: {
          input: list,
          memo: { fields: { prompt: json(SECRET) } },
          header: { fields: { h: json(SECRET) } },
        },
        userMetadata: { summary: json(SECRET), details: json(SECRET) },
      },
      { activityTaskScheduledEventAttributes: { input: list } },
      { activityTaskStartedEventAttributes: { lastFailure: failure } },
      { activityTaskCompletedEventAttributes: { result: list } },
      { activityTaskFailedEventAttributes: { failure } },
      { workflowExecutionSignaledEventAttributes: { signalName: 'approval', input: list } },
      { workflowExecutionUpdateAcceptedEventAttributes: { acceptedRequest: { input: { args: list } } } },
      { workflowExecutionUpdateCompletedEventAttributes: { outcome: { failure } } },
      {
        markerRecordedEventAttributes: {
          markerName: 'core_local_activity',
          details: { result: list },
          failure,
        },
      },
      { workflowPropertiesModifiedEventAttributes: { upsertedMemo: { fields: { open: json(SECRET) } } } },
      { workflowTaskFailedEventAttributes: { failure } },
      { workflowExecutionTerminatedEventAttributes: { reason: SECRET, details: list } },
    ];
    const events = attributes.map((one, index) => ({ eventId: index + 1, eventTime: time, ...one }));
    return historyFromJSON(JSON.parse(toJson(events)));
  };

  /** As Temporal writes it: bytes in base64. */
  const toJson = (events: object[]): string =>
    JSON.stringify({ events }, (_key, value: unknown) => {
      if (ArrayBuffer.isView(value))
        return Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('base64');
      return value === time ? new Date(1000).toISOString() : value;
    });

  /** Everything that a file says, its base64 opened. */
  const opened = (bundle: object): string =>
    JSON.stringify(bundle).replace(/"data":"([^"]*)"/g, (_all, data: string) =>
      Buffer.from(data, 'base64').toString(),
    );

  it('takes secrets out of every place where words can be', async () => {
    const redactor = createRedactor();
    const bundle = await makeBundle([secretive()], { ...options, rewriter: redactor });
    expect(opened(bundle)).not.toMatch(/sk-0123|hunter2/);
    expect(redactor.taken()).toBeGreaterThan(30);
    expect(opened(await makeBundle([secretive()], options)).match(/sk-0123/g)?.length).toBeGreaterThan(25);
  });

  const coded = (code: 'key_missing' | 'payload_refused'): PayloadCodec => ({
    encode: async (payloads) => payloads,
    decode: async () => {
      throw new CountersignError(code, 'no');
    },
  });
  const only = (attributes: string): History => ({
    events:
      secretive().events?.filter((event) => attributes in event && Reflect.get(event, attributes)) ?? [],
  });

  it('says which key is missing where the turn’s own payloads are encrypted', async () => {
    const converter = { payloadCodecs: [coded('key_missing')] };
    const run = only('activityTaskCompletedEventAttributes');
    await expect(makeBundle([run], { ...options, converter })).rejects.toMatchObject({ code: 'key_missing' });
  });

  it.each([
    ['a message whose key nobody has', 'workflowExecutionSignaledEventAttributes', 'key_missing'],
    ['a message that no worker would read', 'workflowExecutionSignaledEventAttributes', 'payload_refused'],
    ['a payload that was altered', 'activityTaskCompletedEventAttributes', 'payload_refused'],
  ] as const)('keeps %s unreadable', async (_what, attributes, code) => {
    const bundle = await makeBundle([only(attributes)], {
      ...options,
      converter: { payloadCodecs: [coded(code)] },
    });
    expect(opened(bundle)).not.toMatch(/sk-0123|hunter2/);
    expect(JSON.stringify(bundle)).toContain(Buffer.from('countersign/unreadable').toString('base64'));
  });

  it('opens what a codec has closed', async () => {
    const codec: PayloadCodec = {
      encode: async (payloads) => payloads,
      decode: async () => [json('opened')],
    };
    const bundle = await makeBundle([only('activityTaskCompletedEventAttributes')], {
      ...options,
      converter: { payloadCodecs: [codec] },
    });
    expect(opened(bundle)).toContain('"opened"');
  });
});
