import type { SignatureKind } from '../decision';
import { LIMITS } from '../limits';
import { object } from '../payloads';
import { soundCheck } from '../schema/message';
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
export const form = (...fields: Parameters<typeof object>): JsonSchema => ({
  ...object(...fields),
  additionalProperties: false,
});
/** The schema of a signature by a key of the approvers file, of one of these kinds. */
export const signatureBy = (...kinds: readonly SignatureKind[]): JsonSchema =>
  form(
    {
      kind: { enum: [...kinds] },
      armored: { type: 'string', maxLength: LIMITS.signatureCharacters },
      at: MOMENT,
      notAfter: MOMENT,
    },
    { statement: { type: 'string', maxLength: LIMITS.statementCharacters } },
  );

/** Makes a guard for values that anybody may have sent: it checks them against a schema. */
export function reader<T>(schema: JsonSchema): (value: unknown) => value is T {
  const issuesOf = soundCheck(schema);
  return (value): value is T => issuesOf(value).length === 0 && areMoments(value);
}

/** Whether all moments in a value exist. The pattern alone also fits a 31st of February. */
function areMoments(value: unknown): boolean {
  if (Array.isArray(value)) return value.every(areMoments);
  if (typeof value !== 'object' || value === null) return true;
  return Object.entries(value).every(([name, one]) => {
    if (name === 'narrowing' || name === 'authority') return true;
    return MOMENTS.includes(name) && typeof one === 'string' ? isMoment(one) : areMoments(one);
  });
}

const MOMENTS: readonly string[] = ['at', 'until', 'takenAt', 'floor', 'notAfter', 'start', 'end'];

/** Whether a text is the one allowed form of a moment that exists. */
export function isMoment(text: string): boolean {
  const at = Date.parse(text);
  return !Number.isNaN(at) && new Date(at).toISOString() === text;
}
