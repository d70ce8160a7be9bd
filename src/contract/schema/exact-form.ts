import { type SignatureKind, VOTE_SIGNATURE } from '../decision';
import { isObject } from '../json';
import { object } from '../payloads';
import { jsonSchemaOf, soundCheck } from './message';
import type { JsonSchema } from '../tool';

export const TEXT: JsonSchema = { type: 'string', maxLength: 1000 };
export const NAME: JsonSchema = { type: 'string', minLength: 1, maxLength: 200 };
export const ID: JsonSchema = { type: 'string', pattern: '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' };
export const DIGEST: JsonSchema = { type: 'string', pattern: '^[0-9a-f]{64}$' };
export const DIGEST_OR_NONE: JsonSchema = { type: 'string', pattern: '^([0-9a-f]{64})?$' };
/** The one form of a moment. A signature covers the text, so each moment may have only one text. */
export const MOMENT: JsonSchema = {
  type: 'string',
  pattern: '^\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}:\\d{2}\\.\\d{3}Z$',
};
/** An object with these fields and no others. */
export const form = (...[required, optional = {}]: Parameters<typeof object>) => ({
  ...object(required, optional),
  properties: { ...required, ...optional },
  additionalProperties: false,
});
/** The schema of a signature by a key of the approvers file, of one of these kinds. */
export function signatureBy(...kinds: readonly SignatureKind[]): JsonSchema {
  const schema = jsonSchemaOf(VOTE_SIGNATURE);
  const fields = { kind: { enum: [...kinds] }, at: MOMENT, notAfter: MOMENT };
  return { ...schema, properties: { ...schema.properties, ...fields } };
}

/** Makes a guard for values that anybody may have sent: it checks them against a schema. */
export function reader<T>(schema: JsonSchema): (value: unknown) => value is T {
  const issuesOf = soundCheck(schema);
  return (value): value is T => issuesOf(value).length === 0 && areMoments(schema, value);
}

/** Whether all moments in a value that fits a schema exist. The pattern alone also fits a 31st of February. */
function areMoments(schema: unknown, value: unknown): boolean {
  if (!isObject(schema) || value === undefined) return true;
  const { items, properties } = schema;
  if (schema === MOMENT) return typeof value === 'string' && isMoment(value);
  if (Array.isArray(value)) return value.every((one) => areMoments(items, one));
  if (!isObject(value) || !isObject(properties)) return true;
  return Object.entries(properties).every(([name, field]) => areMoments(field, value[name]));
}

/** Whether a text is the one allowed form of a moment that exists. */
export function isMoment(text: string): boolean {
  const at = Date.parse(text);
  return !Number.isNaN(at) && new Date(at).toISOString() === text;
}
