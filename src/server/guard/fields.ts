import { z } from 'zod';
import { isObject, type JsonObject } from '../../contract/json';
import { LIMITS } from '../../contract/limits';
import { utf8Bytes } from '../../contract/transcript';

/** A name or id, never empty. */
export const id = z.string().min(1).max(200);

/** What a person wrote about a decision. */
export const words = z
  .string()
  // Nobody types these; in a reason they would only deceive whoever reads it.
  .refine((text) => !/[^\P{Cc}\n\t]/u.test(text), 'control characters are not allowed')
  .refine((text) => utf8Bytes(text) <= LIMITS.reasonBytes, `over ${LIMITS.reasonBytes} bytes`)
  .optional();

/** Arguments of a call; the tool's schema is checked where they are used. */
export const args = z.custom<JsonObject>(isObject, 'must be an object');
