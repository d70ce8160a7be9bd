import { CountersignError } from '../../contract/errors';
import { SEALED_FIELDS, type SealedField } from './format';
import type { ReadLine } from './read';

/** Reads names of fields, with commas between. Errors: `usage`. */
export function readFields(text: string): SealedField[] {
  return text.split(',').map((part) => {
    const found = SEALED_FIELDS.find((name) => name === part.trim());
    if (found !== undefined) return found;
    throw new CountersignError('usage', `there is no field '${part.trim()}' that can be taken out`, {
      hint: `There are ${SEALED_FIELDS.join(', ')}.`,
    });
  });
}

/**
 * A line without the values of some fields. Their hashes stay, so that the line is still the one that was signed;
 * with the value goes its salt, without which the hash tells nothing.
 */
export function redactLine(text: string, line: ReadLine, fields: readonly SealedField[]): string {
  const { body, hash, open } = line;
  if (!fields.some((name) => open.has(name))) return text;
  const kept = [...open].filter(([name]) => !fields.some((field) => field === name));
  const start = text.slice(0, `${body},"hash":"${hash}"`.length);
  return `${start},"open":{${kept.map(([name, pair]) => `"${name}":${pair}`).join()}}}`;
}
