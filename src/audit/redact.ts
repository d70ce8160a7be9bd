import { CountersignError } from '../contract/errors';
import { type SealedField, SEALED_FIELDS } from './format';
import type { ReadLine } from './read';

/** Reads the names of fields, separated by commas. @throws CountersignError `usage`. */
export function readFields(text: string): SealedField[] {
  return text.split(',').map((part) => {
    const found = SEALED_FIELDS.find((name) => name === part.trim());
    if (found !== undefined) return found;
    throw new CountersignError(
      'usage',
      `there is no field '${part.trim()}' that can be taken out`,
      `There are ${SEALED_FIELDS.join(', ')}.`,
    );
  });
}

/**
 * A line without the values of some fields. The hashes of these values stay, so the line is still the line that was
 * signed. Each salt is taken out with its value, because without the salt nobody can guess the value from the hash.
 */
export function redactLine(text: string, line: ReadLine, fields: readonly SealedField[]): string {
  const { body, hash, open } = line;
  if (!fields.some((name) => open.has(name))) return text;
  const kept = [...open].filter(([name]) => !fields.some((field) => field === name));
  const start = text.slice(0, `${body},"hash":"${hash}"`.length);
  return `${start},"open":{${kept.map(([name, pair]) => `"${name}":${pair}`).join()}}}`;
}
