import fc from 'fast-check';
import { defaultPayloadConverter, type Payload } from '@temporalio/common';
import { payloadConverter } from '../../src/encryption/bundle-converters';
import { codecOfSchedule } from '../../src/encryption/codec';
import { whyUnreadable } from '../../src/contract/unreadable';
import { codecOf, drawKey, ofActivity, ofTurn, opened, sealed } from './ring';

const key = drawKey('2026-11');
const keys = [key];
const codec = codecOf({ keys });
const plain: Payload = defaultPayloadConverter.toPayload({ iban: 'CANARY-DE02' });
const valueOf = (payload: Payload): unknown => defaultPayloadConverter.fromPayload(payload);
const bytesOf = (payload: Payload): Buffer =>
  Buffer.concat([...Object.values(payload.metadata ?? {}), payload.data ?? new Uint8Array()]);
const refusedFor = (reason: string) => expect.objectContaining({ code: 'payload_refused', data: { reason } });
const missing = expect.objectContaining({ code: 'key_missing' });

const anyPayload = fc.record({
  metadata: fc.dictionary(fc.string({ minLength: 1 }), fc.uint8Array({ maxLength: 40 }), { maxKeys: 4 }),
  data: fc.uint8Array({ maxLength: 4096 }),
});
const comparable = ({ metadata, data }: Payload) => ({
  metadata: Object.entries(metadata ?? {}).map(([name, value]) => [name, Buffer.from(value).toString('hex')]),
  data: Buffer.from(data ?? []).toString('hex'),
});

it('gives back any payload, whatever is in it', async () => {
  await fc.assert(
    fc.asyncProperty(anyPayload, fc.string(), async (payload, workflowId) => {
      const context = ofTurn(workflowId);
      const back = await opened(codec, await sealed(codec, payload, context), context);
      expect(comparable(back)).toEqual(comparable(payload));
    }),
  );
});

it('encrypts the same payload differently each time, and leaves nothing of it to see', async () => {
  const [one, other] = await codec.encode([plain, plain], ofTurn('a'));
  expect(one?.data).not.toEqual(other?.data);
  expect(bytesOf(one ?? {}).includes('CANARY')).toBe(false);
  expect(bytesOf(one ?? {}).includes('json/plain')).toBe(false);
});

it('takes no payload for what it is not', async () => {
  expect(await codec.encode([], ofTurn('a'))).toEqual([]);
  expect(await codec.decode([], ofTurn('a'))).toEqual([]);
});

it('refuses every change of one byte, in the ciphertext and in the metadata', async () => {
  const payload = await sealed(codec, plain, ofTurn('a'));
  const data = payload.data ?? new Uint8Array();
  const changed: Payload[] = [...data.keys()].map((at) => ({ ...payload, data: flip(data, at) }));
  for (const [name, value] of Object.entries(payload.metadata ?? {}))
    for (const at of value.keys())
      changed.push({ ...payload, metadata: { ...payload.metadata, [name]: flip(value, at) } });
  expect(changed.length).toBeGreaterThan(140);
  for (const one of changed) {
    for (const context of [ofTurn('a'), undefined])
      await expect(opened(codec, one, context)).rejects.toMatchObject({
        code: expect.stringMatching(/^(payload_refused|key_missing)$/),
      });
  }
});

it('refuses any bit that flips (property)', async () => {
  const payload = await sealed(codec, plain, ofTurn('a'));
  const data = payload.data ?? new Uint8Array();
  await fc.assert(
    fc.asyncProperty(fc.nat(data.length - 1), fc.integer({ min: 1, max: 255 }), async (at, mask) => {
      const changed = { ...payload, data: flip(data, at, mask) };
      await expect(opened(codec, changed)).rejects.toEqual(refusedFor('altered'));
    }),
  );
});

it.each([
  ['to nothing', 0],
  ['within the iv', 11],
  ['before the tag', 27],
  ['by one byte', -1],
])('refuses a ciphertext cut short %s', async (_, end) => {
  const payload = await sealed(codec, plain, ofTurn('a'));
  const cut = { ...payload, data: payload.data?.subarray(0, end) ?? null };
  await expect(opened(codec, cut, ofTurn('a'))).rejects.toEqual(refusedFor('altered'));
});

it.each([
  'encoding',
  'encryption-cipher',
  'encryption-key-id',
  'encryption-key-check',
  'encryption-namespace',
  'encryption-workflow-id',
])('refuses a payload without its %s, and with one more field', async (name) => {
  const payload = await sealed(codec, plain, ofTurn('a'));
  const { [name]: removed, ...rest } = payload.metadata ?? {};
  expect(removed).toBeDefined();
  await expect(opened(codec, { ...payload, metadata: rest })).rejects.toEqual(refusedFor('altered'));
  const more = { ...payload.metadata, more: Buffer.from('x') };
  await expect(opened(codec, { ...payload, metadata: more })).rejects.toEqual(refusedFor('altered'));
});

const places = [
  ['another workflow', ofTurn('b')],
  ['another namespace', ofTurn('a', 'staging')],
  ['an activity of another workflow', ofActivity('b')],
] as const;

it.each(places)('refuses a ciphertext that was moved to %s', async (_, place) => {
  const payload = await sealed(codec, plain, ofTurn('a'));
  await expect(opened(codec, payload, place)).rejects.toEqual(refusedFor('moved'));
});

it('refuses a ciphertext that was made for no place wherever there is one', async () => {
  const payload = await sealed(codec, plain);
  expect(valueOf(await opened(codec, payload))).toEqual(valueOf(plain));
  await expect(opened(codec, payload, ofTurn('a'))).rejects.toEqual(refusedFor('moved'));
});

it.each([
  ['its turn', ofTurn('a')],
  ['an activity of its turn', ofActivity('a')],
  ['a caller that names no place', undefined],
])('is read by %s', async (_, context) => {
  const payload = await sealed(codec, plain, ofTurn('a'));
  expect(valueOf(await opened(codec, payload, context))).toEqual(valueOf(plain));
});

it('reads what is bound to anything where a replay knows no place', async () => {
  const payload = await sealed(codec, plain, ofTurn('a'));
  expect(valueOf(await opened(codecOf({ keys }, 'replay'), payload, ofTurn('fake')))).toEqual(valueOf(plain));
});

describe('a schedule', () => {
  const at = '-2026-11-23T08:00:00Z';
  const ofSchedule = codecOfSchedule(codec, 'a');

  it.each([
    ['the schedule itself', ofSchedule, ofTurn('any')],
    ['a turn that it started', codec, ofTurn(`a${at}`)],
  ])('is read by %s', async (_, by, place) => {
    const payload = await sealed(ofSchedule, plain, ofTurn('any'));
    expect(valueOf(await opened(by, payload, place))).toEqual(valueOf(plain));
  });

  it.each([
    ['a turn of its own name', ofTurn('a')],
    ['a turn of another schedule', ofTurn(`b${at}`)],
    ['a turn of a schedule whose name goes on', ofTurn(`ab${at}`)],
    ['a turn whose name goes on after the time', ofTurn(`a${at}x`)],
    ['another namespace', ofTurn(`a${at}`, 'staging')],
  ])('gives nothing to %s', async (_, place) => {
    const payload = await sealed(ofSchedule, plain, ofTurn('any'));
    await expect(opened(codec, payload, place)).rejects.toEqual(refusedFor('moved'));
  });

  it('takes nothing of a turn that has the name of the schedule', async () => {
    const payload = await sealed(codec, plain, ofTurn('a'));
    await expect(opened(codec, payload, ofTurn(`a${at}`))).rejects.toEqual(refusedFor('moved'));
    await expect(opened(ofSchedule, payload, ofTurn('any'))).rejects.toEqual(refusedFor('moved'));
  });
});

describe('rotation', () => {
  const newer = drawKey('2027-02');

  it('encrypts with the newest key and reads what older ones encrypted', async () => {
    const rotated = codecOf({ keys: [newer, key] });
    expect(bytesOf(await sealed(rotated, plain, ofTurn('a'))).includes('2027-02')).toBe(true);
    const old = await sealed(codec, plain, ofTurn('a'));
    expect(valueOf(await opened(rotated, old, ofTurn('a')))).toEqual(valueOf(plain));
  });

  it.each([
    ['a newer key', [newer]],
    ['another key under the same id', [drawKey('2026-11')]],
    ['no key', undefined],
  ])('misses the key where there is only %s', async (_, others) => {
    const payload = await sealed(codec, plain, ofTurn('a'));
    const options = others === undefined ? {} : { keys: others };
    // A worker without any keys has no codec.
    const kinds =
      others === undefined ? (['client', 'replay'] as const) : (['worker', 'client', 'replay'] as const);
    for (const kind of kinds)
      await expect(opened(codecOf(options, kind), payload, ofTurn('a'))).rejects.toEqual(missing);
    if (others !== undefined) return;
    const why = 'a payload is encrypted with the key 2026-11; no keys are set';
    expect(whyUnreadable(payloadConverter.fromPayload(payload))).toEqual({ why, waits: true });
    const listed = await opened(codecOf(options, 'listing'), payload, ofTurn('a'));
    expect(valueOf(listed)).toBeUndefined();
  });

  it('repeats no id that could not be one of ours', async () => {
    const payload = await sealed(codec, plain, ofTurn('a'));
    const odd = { ...payload.metadata, 'encryption-key-id': Buffer.from('\u001b[2J of mine') };
    const error: unknown = await opened(codec, { ...payload, metadata: odd }).catch((thrown) => thrown);
    expect(error).toMatchObject({ message: expect.stringContaining('a key whose id is not valid') });
  });
});

describe('what is not encrypted', () => {
  it('is refused as soon as there are keys', async () => {
    await expect(opened(codec, plain, ofTurn('a'))).rejects.toEqual(refusedFor('plaintext'));
  });

  it.each([
    ['without keys', {}],
    ['where it is not required', { keys, required: false }],
  ])('is read %s', async (_, options) => {
    expect(await opened(codecOf(options), plain, ofTurn('a'))).toBe(plain);
  });

  it('is sent as it is without keys', async () => {
    expect(await sealed(codecOf({}), plain, ofTurn('a'))).toBe(plain);
  });
});

describe('a worker', () => {
  const worker = codecOf({ keys }, 'worker');

  it('hands a workflow what nothing can convert, instead of being stopped', async () => {
    const moved = await sealed(codec, plain, ofTurn('b'));
    for (const place of [ofTurn('a'), ofActivity('a')])
      for (const [payload, mark] of [
        [plain, 'countersign/waits'],
        [moved, 'countersign/refused'],
      ] as const) {
        const marked = await opened(worker, payload, place);
        expect(() => valueOf(marked)).toThrow(mark);
        expect(bytesOf(marked).includes('CANARY')).toBe(false);
      }
  });
});

it('a list leaves out what must not be read, and keeps the rest', async () => {
  const listing = codecOf({ keys }, 'listing');
  const good = await sealed(codec, plain, ofTurn('a'));
  const values = (await listing.decode([plain, good], ofTurn('a'))).map(valueOf);
  expect(values).toEqual([undefined, valueOf(plain)]);
});

it('no error says anything of key or content', async () => {
  const secret = key.split(':')[1] ?? '';
  const payload = await sealed(codec, plain, ofTurn('a'));
  const tries = [opened(codec, plain), opened(codecOf({}), payload), opened(codec, payload, ofTurn('b'))];
  for (const result of await Promise.allSettled(tries)) {
    const error = result.status === 'rejected' ? result.reason : undefined;
    expect(error).toBeDefined();
    const told = JSON.stringify({ ...error, message: error.message, stack: error.stack, cause: error.cause });
    expect(told).not.toMatch(/CANARY/);
    expect(told).not.toContain(secret);
  }
});

function flip(bytes: Uint8Array, at: number, mask = 1): Uint8Array {
  const changed = Uint8Array.from(bytes);
  changed[at] = (changed[at] ?? 0) ^ mask;
  return changed;
}
