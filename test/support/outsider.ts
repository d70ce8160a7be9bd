import type { temporal } from '@temporalio/proto';
import fc from 'fast-check';

type Payload = temporal.api.common.v1.IPayload;

/** What anybody who may use the namespace can write: any value, in any encoding, most of it near to what we read. */

const FIELDS = [
  ...['callId', 'decision', 'arguments', 'hunks', 'reason', 'approver', 'decisionId', 'seenDigest'],
  ...['resolution', 'callKey', 'generation', 'secret', 'result', 'inDoubt', 'askAgain', 'notHere'],
  ...['calls', 'call', 'kind', 'agent', 'prompt', 'carried', 'fork', 'from'],
  ...['__proto__', 'constructor', 'toString'],
];

/** Names of our own fields beside any other, so that what is drawn gets past the first look. */
export const anyName = fc.oneof(fc.constantFrom(...FIELDS), fc.string());

const SCALARS = ['1.1', 'approved', 'modified', 'denied', 'happened', 'run', 'ask', 1, -0, 1e308, true, null];

export const anyValue = fc.letrec((tie) => ({
  any: fc.oneof(
    { maxDepth: 5 },
    fc.constantFrom(...SCALARS),
    fc.jsonValue(),
    fc.string(),
    fc.array(tie('any'), { maxLength: 4 }),
    fc.dictionary(anyName, tie('any'), { maxKeys: 6 }),
  ),
})).any;

const encoding = fc.oneof(
  fc.constantFrom('json/plain', 'binary/null', 'binary/plain', 'binary/encrypted', 'json/protobuf', ''),
  fc.string(),
);
const text = fc.oneof(
  anyValue.map((drawn) => JSON.stringify(drawn)),
  fc.string(),
  fc.tuple(anyValue, fc.nat(60)).map(([drawn, cut]) => JSON.stringify(drawn).slice(0, cut)),
);
const data = fc.oneof(
  text.map((written) => Buffer.from(written)),
  fc.uint8Array({ maxLength: 200 }),
);

/** What any client in any language could send. */
export const anyPayload: fc.Arbitrary<Payload> = fc.record(
  {
    metadata: fc.oneof(
      encoding.map((name) => ({ encoding: Buffer.from(name) })),
      fc.constant({}),
    ),
    data,
  },
  { requiredKeys: [] },
);

/** JSON as our own clients send it. */
export const json = (value: unknown): Payload => ({
  metadata: { encoding: Buffer.from('json/plain') },
  data: Buffer.from(JSON.stringify(value)),
});
