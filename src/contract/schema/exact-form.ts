import { type SignatureKind, VOTE_SIGNATURE, type VoteSignature } from '../decision';
import { isObject } from '../json';
import { object, refined, type Shape, text } from './shape';
import { shapeOf, guard } from './message';

export const TEXT = text({ maxLength: 1000 });
export const NAME = text({ minLength: 1, maxLength: 200 });
export const ID = text({ pattern: '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' });
export const DIGEST = text({ pattern: '^[0-9a-f]{64}$' });
export const DIGEST_OR_NONE = text({ pattern: '^([0-9a-f]{64})?$' });
/** The one form of a moment. A signature covers the text, so each moment may have only one text. */
export const MOMENT = text({ pattern: '^\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}:\\d{2}\\.\\d{3}Z$' });
/** An object with these fields and no others. */
export const form: typeof object = (required, optional) =>
  refined(object(required, optional), { additionalProperties: false });
/** The schema of a signature by a key of the approvers file, of one of these kinds. */
export function signatureBy(...kinds: readonly SignatureKind[]): Shape<VoteSignature> {
  const schema = shapeOf(VOTE_SIGNATURE);
  const { properties } = schema;
  const fields = { kind: { enum: [...kinds] }, at: MOMENT, notAfter: MOMENT };
  return refined(schema, { properties: { ...(isObject(properties) ? properties : {}), ...fields } });
}

/** Makes a guard for values that anybody may have sent: it checks them against a shape. */
export function reader<T>(shape: Shape<T>): (value: unknown) => value is T {
  const fits = guard(shape);
  return (value): value is T => fits(value) && areMoments(shape, value);
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
