import { distinct, isJsonObject, type JsonObject, parseJson } from '../../contract/json';
import type { Agent } from '../../tools/define-agent';

/** The most issues that the model reads, which is enough to correct an answer. */
const MOST_ISSUES = 20;

/** The value of an answer, or what is wrong with the answer. */
type ReadAnswer = { value: JsonObject } | { wrong: string };

/**
 * Reads the value that an agent asks for from a text: the whole text or, as models like to write, one JSON object in a
 * Markdown fence or between words. Several objects that fit have no one meaning.
 */
export function readOutput(text: string, output: NonNullable<Agent['output']>): ReadAnswer {
  const objects = objectsIn(text);
  const fitting = objects.filter((value) => output.parse(value).ok);
  const [value, ...others] = distinct(fitting);
  if (others.length > 0) return { wrong: 'The answer has several JSON objects that fit.' };
  if (value !== undefined) return { value };
  const [first] = objects;
  if (first === undefined) return { wrong: 'The answer is not a JSON object.' };
  const parsed = output.parse(first);
  const issues = parsed.ok ? [] : parsed.issues.slice(0, MOST_ISSUES);
  const words = issues.map(({ path, message }) => `${path || '/'}: ${message}`);
  return { wrong: `The answer does not fit its schema: ${words.join('; ')}.` };
}

function objectsIn(text: string): JsonObject[] {
  const whole = parseJson(text.trim());
  if (whole !== undefined) return isJsonObject(whole) ? [whole] : [];
  const fenced = [...text.matchAll(/^[ \t]*```[^\n`]*\n([\s\S]*?)```/gm)];
  const found = fenced.map(([, inner = '']) => parseJson(inner)).filter(isJsonObject);
  if (found.length > 0) return found;
  const between = parseJson(text.slice(text.indexOf('{'), text.lastIndexOf('}') + 1));
  return isJsonObject(between) ? [between] : [];
}
