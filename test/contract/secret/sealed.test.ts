import fc from 'fast-check';
import { callIdIn, callKey } from '../../../src/contract/names';
import { PLAIN_FORM, toForm } from '../../../src/contract/schema/question-form';
import {
  handleOf,
  handlesIn,
  partsOf,
  sealedHead,
  sealIssues,
  splitAnswer,
} from '../../../src/contract/secret/sealed';
import type { JsonObject } from '../../../src/contract/json';

const KEY = callKey('reply', '1.1');
const EPK = { kty: 'EC', crv: 'P-256', x: 'x', y: 'y' };
const HEAD = {
  alg: 'ECDH-ES',
  enc: 'A256GCM',
  kid: 'k',
  cs: { call: KEY, field: 'token', for: ['deploy'] },
  epk: EPK,
};
const jwe = (head: unknown, text = JSON.stringify(head)): string =>
  `${Buffer.from(text).toString('base64url')}..${'A'.repeat(16)}.AAAA.${'A'.repeat(22)}`;
const secret = (more: JsonObject = {}): JsonObject => ({
  type: 'object',
  properties: { token: { type: 'string', format: 'password', 'x-for': ['deploy'], ...more } },
});

it('reads the head of a compact JWE', () => {
  expect(sealedHead(jwe(HEAD))).toEqual({ kid: 'k', cs: HEAD.cs });
});

it.each<[what: string, value: unknown]>([
  ['plain text', 'hunter2'],
  ['a number', 7],
  ['another algorithm', jwe({ ...HEAD, alg: 'dir' })],
  ['another cipher', jwe({ ...HEAD, enc: 'A128CBC-HS256' })],
  ['compression', jwe({ ...HEAD, zip: 'DEF' })],
  ['critical extensions', jwe({ ...HEAD, crit: ['b64'] })],
  ['no binding', jwe({ ...HEAD, cs: undefined })],
  ['more in the binding', jwe({ ...HEAD, cs: { ...HEAD.cs, more: 1 } })],
  ['no tools', jwe({ ...HEAD, cs: { ...HEAD.cs, for: [] } })],
  ['a field twice', jwe(HEAD, JSON.stringify(HEAD).replace('{', '{"kid":"other",'))],
  ['letters outside of ASCII', jwe({ ...HEAD, kid: 'ä' })],
  ['an encrypted key', jwe(HEAD).replace('..', '.AAAA.')],
  ['what is too long', jwe(HEAD).replace('.AAAA.', `.${'A'.repeat(10_000)}.`)],
])('refuses %s', (_what, value) => {
  expect(sealedHead(value)).toBeUndefined();
});

it('never throws for a hostile string, and finds no head in it', () => {
  const parts = fc.array(fc.oneof(fc.base64String(), fc.string(), fc.constant('')), { maxLength: 6 });
  const heads = fc.json().map((text) => jwe(undefined, text.padEnd(40)));
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string(),
        parts.map((all) => all.join('.')),
        heads,
      ),
      (text) => {
        expect(sealedHead(text)).toBeUndefined();
      },
    ),
  );
});

it.each<[what: string, value: string, said: string]>([
  ['plain text', 'hunter2', 'has to be encrypted'],
  ['another call', jwe({ ...HEAD, cs: { ...HEAD.cs, call: callKey('reply', '1.2') } }), 'another question'],
  ['another field', jwe({ ...HEAD, cs: { ...HEAD.cs, field: 'pin' } }), 'another question'],
  ['another tool', jwe({ ...HEAD, cs: { ...HEAD.cs, for: ['steal'] } }), 'another question'],
  ['another key', jwe({ ...HEAD, kid: 'other' }), 'another key'],
])('an answer does not fit with %s', (_what, token, said) => {
  const key = { kty: 'EC', crv: 'P-256', x: 'x', y: 'y', kid: 'k' } as const;
  const question = { form: secret(), key };
  expect(sealIssues(question, { token }, KEY)).toMatchObject([{ path: '/token' }]);
  expect(JSON.stringify(sealIssues(question, { token }, KEY))).toContain(said);
  expect(sealIssues(question, { token: jwe(HEAD) }, KEY)).toEqual([]);
  expect(sealIssues(question, {}, KEY)).toEqual([]);
});

it('shows handles in place of what is encrypted', () => {
  const token = jwe(HEAD);
  const { shown, sealed } = splitAnswer({ form: secret() }, { token, city: 'Rome' }, '1.1');
  expect(shown).toEqual({ token: 'answer:1.1/token', city: 'Rome' });
  expect(sealed).toEqual({ 'answer:1.1/token': token });
  expect(splitAnswer({ form: PLAIN_FORM }, { answer: token }, '1.1').sealed).toBeUndefined();
});

it('finds handles anywhere in arguments, each once', () => {
  const handle = handleOf(callIdIn(3, 11), 'api-key');
  expect(handlesIn({ a: [{ b: `Bearer ${handle}` }], c: handle, d: 4, e: null })).toEqual([handle]);
  expect(partsOf(handle)).toEqual({ callId: '3.12', field: 'api-key' });
  expect(partsOf(` ${handle}`)).toBeUndefined();
});

it.each<[what: string, form: JsonObject, path: string]>([
  ['no tools', secret({ 'x-for': [] }), '/properties/token/x-for'],
  ['tools that are no names', secret({ 'x-for': [1] }), '/properties/token/x-for'],
  ['a default', secret({ default: 'x' }), '/properties/token/default'],
  ['choices', secret({ enum: ['x'] }), '/properties/token/enum'],
  ['tools of an open field', secret({ format: 'email' }), '/properties/token/x-for'],
])('a form is refused with %s', (_what, form, path) => {
  expect(toForm(form)).toMatchObject({
    ok: false,
    issues: expect.arrayContaining([expect.objectContaining({ path })]),
  });
});
