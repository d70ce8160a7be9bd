type Schema = Readonly<Record<string, unknown>>;

/** The names of the formats of JSON Schema, each with an example. */
const FORMATS: Readonly<Record<string, string>> = {
  date: 'a date, such as 2026-11-22',
  time: 'a time, such as 14:30:00',
  'date-time': 'a date and time with its zone, such as 2026-11-22T14:30:00Z',
  duration: 'a duration, such as P1DT2H',
  email: 'an e-mail address',
  uri: 'a whole address, with its https:',
  url: 'a whole address, with its https:',
};

function wordsIn(table: Readonly<Record<string, string>>, name: string) {
  return Object.hasOwn(table, name) ? table[name] : undefined;
}

/** The limits of a value in words, shown before a person breaks them. Undefined if the schema has no limits. */
export function limitsOf(schema: Schema): string | undefined {
  const parts = [...numberLimits(schema), ...textLimits(schema), ...listLimits(schema)];
  return parts.length === 0 ? undefined : parts.join(', ');
}

function numberLimits({ type, minimum, maximum, ...more }: Schema): string[] {
  const { exclusiveMinimum: above, exclusiveMaximum: below, multipleOf } = more;
  return [
    ...(type === 'integer' ? ['a whole number'] : []),
    ...range(bound(minimum), bound(maximum), ''),
    ...(bound(above) === undefined ? [] : [`over ${String(above)}`]),
    ...(bound(below) === undefined ? [] : [`under ${String(below)}`]),
    ...(typeof multipleOf === 'number' && multipleOf !== 1 ? [`in steps of ${multipleOf}`] : []),
  ];
}

/** A bound. Bounds that only keep a number exact are not shown. */
function bound(value: unknown) {
  return typeof value === 'number' && Math.abs(value) < Number.MAX_SAFE_INTEGER ? value : undefined;
}

function textLimits({ type, minLength, maxLength, format, pattern }: Schema): string[] {
  if (type !== undefined && type !== 'string') return [];
  const words = typeof format === 'string' ? wordsIn(FORMATS, format) : undefined;
  const form = typeof pattern === 'string' && words === undefined ? [`in the form ${pattern}`] : [];
  const [least, most] = [bound(minLength), bound(maxLength)];
  const length =
    least === 1 && most === undefined ? ['not empty'] : range(least || undefined, most, ' characters');
  return [...(words === undefined ? [] : [words]), ...length, ...form];
}

function listLimits({ minItems, maxItems, uniqueItems }: Schema): string[] {
  const items = range(bound(minItems) || undefined, bound(maxItems), ' items');
  return uniqueItems === true ? [...items, 'each different'] : items;
}

function range(least: number | undefined, most: number | undefined, unit: string): string[] {
  if (least !== undefined && most !== undefined)
    return [least === most ? `${least}${unit}` : `${least} to ${most}${unit}`];
  if (least !== undefined) return [`at least ${least}${unit}`];
  return most === undefined ? [] : [`at most ${most}${unit}`];
}

const TYPES: Readonly<Record<string, string>> = {
  string: 'text',
  number: 'a number',
  integer: 'a whole number',
  boolean: 'yes or no',
  null: 'nothing',
  array: 'a list',
  object: 'an object',
};

/** The messages of the checker, each with the words for a person who fills in a form. */
const WORDS: readonly (readonly [RegExp, (...found: string[]) => string])[] = [
  [
    /^Instance type ".+" is invalid\. Expected "(.+)"\.$/,
    (types = '') =>
      `has to be ${types
        .split('", "')
        .map((type) => wordsIn(TYPES, type) ?? type)
        .join(' or ')}`,
  ],
  [/^String is too short \(0 < \d+\)\.$/, () => 'must not be empty'],
  [
    /^String is too short \((\d+) < (\d+)\)\.$/,
    (is, least) => `is too short: ${is} of at least ${least} characters`,
  ],
  [
    /^String is too long \((\d+) > (\d+)\)\.$/,
    (is, most) => `is too long: ${is} of at most ${most} characters`,
  ],
  [
    /^String does not match format "(.+)"\.$/,
    (format = '') => `has to be ${wordsIn(FORMATS, format) ?? format}`,
  ],
  [/^String does not match pattern\.$/, () => 'does not have the form that is wanted'],
  [
    /^Array has too few items \((\d+) < (\d+)\)\.$/,
    (is, least) => `has too few items: ${is} of at least ${least}`,
  ],
  [
    /^Array has too many items \((\d+) > (\d+)\)\.$/,
    (is, most) => `has too many items: ${is} of at most ${most}`,
  ],
  [/^Instance does not match any of \[(.+)\]\.$/, (values) => `has to be one of ${values}`],
  [/^Instance does not match any subschemas\.$/, () => 'is none of the kinds that are allowed'],
  [/^Instance does not match (.+)\.$/, (value) => `has to be ${value}`],
];

/** A message of the checker, in words for a person who fills in a form. */
export function plainWords(message: string): string {
  for (const [pattern, say] of WORDS) {
    const match = pattern.exec(message);
    if (match !== null) return say(...match.slice(1));
  }
  return message;
}

/** Whether a fault only repeats another fault of the same value: a format says more than its pattern. */
export function saysLess(message: string): boolean {
  return message === 'String does not match pattern.';
}
