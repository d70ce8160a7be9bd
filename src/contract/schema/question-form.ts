import { isJsonObject, isObject, type Json, type JsonObject } from '../json';
import { LIMITS } from '../limits';
import { completeAnswer, type Question } from '../question';
import { checkSchema } from './schema';
import type { Issue, JsonSchema } from '../tool';

/** The most characters of one text in an answer: 20 such texts fit a result that the model reads. */
const ANSWER_TEXT_CHARS = 2_000;

/** The form of a question that brings no form: a single text. */
export const PLAIN_FORM: JsonSchema = {
  type: 'object',
  properties: {
    answer: { type: 'string', title: 'Answer', minLength: 1, maxLength: ANSWER_TEXT_CHARS },
  },
  required: ['answer'],
  additionalProperties: false,
};

/** Why nobody is asked for a secret. An answer is on record, and the model or the server that asks reads it. */
export const NO_SECRETS =
  'a person is not asked for secrets by a form; whoever runs the worker sets them in its configuration, under `secrets`';

const FORMATS: readonly unknown[] = ['email', 'uri', 'date', 'date-time'];
const IS_FIELD_NAME = /^[A-Za-z][A-Za-z0-9_-]{0,63}$/;

/** Keywords that do not affect which values fit. They are dropped silently. */
const ROOT_KEYWORDS = [
  'type',
  'properties',
  'required',
  'title',
  'description',
  'additionalProperties',
  '$schema',
];
const SHARED = ['type', 'title', 'description', 'default'];
const KEYWORDS: Readonly<Record<string, readonly string[]>> = {
  string: [...SHARED, 'minLength', 'maxLength', 'format', 'enum'],
  number: [...SHARED, 'minimum', 'maximum'],
  integer: [...SHARED, 'minimum', 'maximum'],
  boolean: SHARED,
};

/** A form, or the issues of the schema with their places. */
type MadeForm = { ok: true; form: JsonSchema } | { ok: false; issues: Issue[] };

/**
 * Makes the form of a question from a schema that a model wrote. A part that a person could not fill in, or that a
 * screen could not show, is an issue. Never throws.
 */
export function toForm(schema: unknown): MadeForm {
  const issues: Issue[] = [];
  const wrong = (path: string, message: string) => void issues.push({ path, message });
  if (!isJsonObject(schema) || schema['type'] !== 'object' || !isObject(schema['properties'])) {
    return { ok: false, issues: [{ path: '', message: 'must be { type: "object", properties: { … } }' }] };
  }
  if (JSON.stringify(schema).length > LIMITS.formCharacters)
    return { ok: false, issues: [{ path: '', message: `over ${LIMITS.formCharacters} characters` }] };
  for (const key of unknownKeys(schema, ROOT_KEYWORDS)) wrong(`/${key}`, 'is not part of a form');
  const entries = Object.entries(schema['properties']);
  if (entries.length === 0 || entries.length > LIMITS.formFields)
    wrong('/properties', `must have 1 to ${LIMITS.formFields} fields`);
  const required = schema['required'] ?? [];
  const names = new Set(entries.map(([name]) => name));
  if (!Array.isArray(required) || !required.every((name) => typeof name === 'string' && names.has(name)))
    wrong('/required', 'must be a list of names of fields');
  const properties = entries
    .slice(0, LIMITS.formFields)
    .map(
      ([name, field]) =>
        [name, toField(field, (path, message) => wrong(`/properties/${name}${path}`, message))] as const,
    );
  for (const [name] of properties)
    if (!IS_FIELD_NAME.test(name))
      wrong(
        '/properties',
        `${JSON.stringify(name.slice(0, 64))}: a name has letters, digits, _ and -, and begins with a letter`,
      );
  if (issues.length > 0) return { ok: false, issues: issues.slice(0, MOST_ISSUES) };
  return {
    ok: true,
    form: {
      type: 'object',
      properties: Object.fromEntries(properties),
      required,
      additionalProperties: false,
    },
  };
}

const MOST_ISSUES = 20;

type Wrong = (path: string, message: string) => void;

function toField(field: unknown, wrong: Wrong): JsonObject {
  const type = isObject(field) ? field['type'] : undefined;
  const known = typeof type === 'string' && Object.hasOwn(KEYWORDS, type) ? KEYWORDS[type] : undefined;
  if (!isJsonObject(field) || known === undefined) {
    wrong('', 'must have the type string, number, integer or boolean');
    return {};
  }
  if (isMarkedSecret(field)) {
    wrong('', `asks for a secret: ${NO_SECRETS}`);
    return {};
  }
  for (const key of unknownKeys(field, known)) wrong(`/${key}`, 'is not supported in a form');
  for (const key of ['title', 'description'])
    if (field[key] !== undefined && !isShortText(field[key]))
      wrong(`/${key}`, 'must be a text of at most 1000 characters');
  for (const key of ['minimum', 'maximum'])
    if (field[key] !== undefined && typeof field[key] !== 'number') wrong(`/${key}`, 'must be a number');
  if (type !== 'string') return checkDefault(field, wrong);
  const { enum: options, format, minLength = 0, maxLength = ANSWER_TEXT_CHARS } = field;
  if (format !== undefined && !FORMATS.includes(format))
    wrong('/format', `must be one of ${FORMATS.join(', ')}`);
  if (options !== undefined && !isChoice(options))
    wrong('/enum', `must be 1 to ${LIMITS.formOptions} different texts`);
  if (!isLength(minLength) || !isLength(maxLength) || minLength > maxLength)
    wrong('', `minLength and maxLength must be whole numbers, 0 to ${ANSWER_TEXT_CHARS}`);
  return checkDefault(options === undefined ? { ...field, maxLength } : field, wrong);
}

/** Whether a schema says that its values are secret, in one of the ways in which schemas say so. */
function isMarkedSecret({ format, writeOnly, secret }: JsonObject) {
  return format === 'password' || writeOnly === true || secret === true;
}

function checkDefault(field: JsonObject, wrong: Wrong): JsonObject {
  const given = field['default'];
  if (given === undefined) return field;
  const [issue] = checkSchema(field, given);
  if (issue !== undefined) wrong('/default', `does not fit: ${issue.message}`);
  return field;
}

function unknownKeys(value: JsonObject, known: readonly string[]) {
  return Object.keys(value)
    .filter((key) => !known.includes(key))
    .map((key) => key.slice(0, 64));
}

function isShortText(value: unknown) {
  return typeof value === 'string' && value.length <= 1000;
}

function isChoice(options: unknown) {
  if (!Array.isArray(options) || options.length === 0 || options.length > LIMITS.formOptions) return false;
  return new Set(options).size === options.length && options.every((one) => isShortText(one) && one !== '');
}

function isLength(value: Json): value is number {
  return Number.isInteger(value) && Number(value) >= 0 && Number(value) <= ANSWER_TEXT_CHARS;
}

/** A person's answer, with defaults for the fields that they left out, and the issues that were found. Never throws. */
export function checkAnswer(
  { form }: Question,
  content: JsonObject,
): { content: JsonObject; issues: Issue[] } {
  const whole = completeAnswer({ form }, content);
  return { content: whole, issues: checkSchema(form, whole) };
}
