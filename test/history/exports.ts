import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { drawKey, ofTurn, ringOf, sealed } from '../encryption/ring';

const event = z.looseObject({ eventId: z.string(), eventType: z.string() });
const history = z.looseObject({ events: z.array(event) });

/** A history as Temporal exports it, to be changed at will. */
export type ExportedHistory = z.infer<typeof history>;

/** A recorded turn's exported history, such as `edited`. */
export const exported = (name: string): ExportedHistory => history.parse(JSON.parse(exportedText(name)));

/** The same as text. */
export const exportedText = (name: string): string =>
  readFileSync(join(__dirname, '..', 'histories', `${name}.json`), 'utf8');

/** The same, changed as text. Fails where the change changes nothing. */
export const changed = (name: string, from: string | RegExp, to: string): string => {
  const text = exportedText(name);
  const other = text.replaceAll(from, to);
  if (other === text) throw new Error(`${String(from)} is not in ${name}`);
  return other;
};

/** The same with another type of workflow. */
export const ofAnotherApplication = (): string => changed('plain', '"agentTurn"', '"orderFulfilment"');

/** The same with the marker that `patched(id)` leaves. */
export const withPatch = (name: string, id: string): ExportedHistory => {
  const whole = exported(name);
  const data = Buffer.from(JSON.stringify({ id, deprecated: false })).toString('base64');
  const metadata = { encoding: Buffer.from('json/plain').toString('base64') };
  const count = whole.events.length;
  const end = whole.events.slice(-1).map((last) => ({ ...last, eventId: String(count + 1) }));
  const marker = {
    eventId: String(count),
    eventType: 'EVENT_TYPE_MARKER_RECORDED',
    markerRecordedEventAttributes: {
      markerName: 'core_patch',
      details: { 'patch-data': { payloads: [{ metadata, data }] } },
    },
  };
  return { ...whole, events: [...whole.events.slice(0, -1), marker, ...end] };
};

const payloads = z.object({
  payloads: z.array(z.object({ metadata: z.record(z.string(), z.string()), data: z.string() })),
});

/** The same with its first input encrypted, and the key. */
export const encryptedExport = async (name: string): Promise<{ json: ExportedHistory; key: string }> => {
  const key = drawKey('k1');
  const [codec] = ringOf({ keys: [key] }).client().payloadCodecs ?? [];
  const [first, ...rest] = exported(name).events;
  if (codec === undefined || first === undefined) throw new Error('nothing to encrypt');
  const started = z.looseObject({ input: payloads }).parse(first['workflowExecutionStartedEventAttributes']);
  const sealedPayloads = await Promise.all(
    started.input.payloads.map(async ({ metadata, data }) => {
      const plain = { metadata: fromBase64(metadata), data: Buffer.from(data, 'base64') };
      const { metadata: about, data: bytes } = await sealed(codec, plain, ofTurn('t'));
      return { metadata: toBase64(about ?? {}), data: Buffer.from(bytes ?? []).toString('base64') };
    }),
  );
  const input = { payloads: sealedPayloads };
  return {
    json: { events: [{ ...first, workflowExecutionStartedEventAttributes: { ...started, input } }, ...rest] },
    key,
  };
};

function fromBase64(metadata: Record<string, string>): Record<string, Uint8Array> {
  return Object.fromEntries(
    Object.entries(metadata).map(([name, value]) => [name, Buffer.from(value, 'base64')]),
  );
}

function toBase64(metadata: Record<string, Uint8Array>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(metadata).map(([name, value]) => [name, Buffer.from(value).toString('base64')]),
  );
}
