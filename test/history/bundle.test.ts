import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Payload, PayloadCodec } from '@temporalio/common';
import { historyFromJSON } from '@temporalio/common/lib/proto-utils';
import { makeBundle, type BundleOptions } from '../../src/history/bundle';
import { CountersignError } from '../../src/contract/errors';
import { createRedactor, keepAll } from '../../src/cli/export/redactor';
import { parseExport } from '../../src/history/exported';
import { turnEventsOfJson } from '../../src/history/from-json';
import type { History } from '../../src/history/read-histories';
import { recordedFiles } from './audit/sample';

const histories = join(__dirname, '..', 'histories');
const files: [string, string][] = [
  ...recordedFiles,
  ...readdirSync(histories)
    .filter((name) => name.endsWith('.json'))
    .map((name): [string, string] => [name, join(histories, name)]),
];
const options: BundleOptions = {
  version: '1.2.3',
  namespace: 'default',
  turn: 't',
  converter: { payloadCodecs: [] },
  rewriter: keepAll,
};
const read = (path: string): History[] => parseExport(readFileSync(path, 'utf8'));

it.each(files)('%s: comes back as it was where nothing is taken out', async (_name, path) => {
  const runs = read(path);
  const bundle = await makeBundle(runs, options);
  expect(bundle).toMatchObject({ countersign: 1, version: '1.2.3' });
  expect(parseExport(JSON.stringify(bundle))).toEqual(runs);
});

it.each(files)('%s: tells the same turn without its secrets', async (_name, path) => {
  const redactor = createRedactor();
  const bundle = await makeBundle(read(path), { ...options, rewriter: redactor });
  expect(redactor.taken()).toBe(0);
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
  events: secretive().events?.filter((event) => attributes in event && Reflect.get(event, attributes)) ?? [],
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
  const codec: PayloadCodec = { encode: async (payloads) => payloads, decode: async () => [json('opened')] };
  const bundle = await makeBundle([only('activityTaskCompletedEventAttributes')], {
    ...options,
    converter: { payloadCodecs: [codec] },
  });
  expect(opened(bundle)).toContain('"opened"');
});
