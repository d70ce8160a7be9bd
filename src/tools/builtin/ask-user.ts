import { z } from 'zod';
import { LIMITS } from '../../contract/limits';
import { PLAIN_FORM, toForm } from '../../contract/schema/question-form';
import type { JsonSchema } from '../../contract/tool';
import { isObject } from '../../contract/json';
import { defineTool } from '../define-tool';
import { ToolError } from '../errors';
import { checkedOptions, invalidDefinition } from '../option-values';
import { resolveParameters } from '../parameters';
import type { Parameters, Tool } from '../types';

const optionsSchema = z.strictObject({
  /** The name of this tool. @default 'ask_user' */
  name: z.string().optional(),
  /**
   * The time that a question waits, or `'never'`. After this time the model reads that nobody answered.
   * @default 7 days
   */
  expires: z.union([z.number(), z.string()]).optional(),
  /**
   * The form for questions to which the model adds no form: a zod object or JSON Schema, flat, with texts, numbers, yes
   * or no, and choices.
   * @default one text
   */
  form: z
    .custom<Parameters>(
      (value) => typeof value === 'object' && value !== null,
      'must be a zod object or a JSON Schema',
    )
    .optional(),
  /** Whether the model may make forms of its own. False: every question has `form`. @default true */
  ownForms: z.boolean().optional(),
});

/** The options of `askUser`. */
export interface AskUserOptions extends z.input<typeof optionsSchema> {}

const DESCRIPTION =
  'Asks a person a question and waits for the answer, for days if need be. Use it when you need a fact, a choice or a ' +
  'preference that only a person knows. An answer is never a permission: a tool that needs one asks by itself. Never ' +
  'ask for a password or another secret: answers are kept on record.';

const question = z
  .string()
  .min(1)
  .max(LIMITS.questionChars)
  .describe('What you want to know, and why, in plain words');

const FORM_HELP =
  'Only where one text is not enough: a flat JSON Schema of what to fill in, such as {"type":"object","properties":' +
  '{"color":{"type":"string","title":"Color","enum":["red","blue"]},"count":{"type":"integer","minimum":1,"default":1}},' +
  '"required":["color"]}. Fields are string (also with enum, or format email, uri, date, date-time), number, integer ' +
  'or boolean.';

const ownForm = z
  .record(z.string(), z.unknown())
  .superRefine((schema, context) => {
    const made = toForm(schema);
    if (made.ok) return;
    for (const { path, message } of made.issues)
      context.addIssue({ code: 'custom', message, path: path.split('/').slice(1) });
  })
  .describe(FORM_HELP);

/**
 * Makes the tool by which an agent asks a person. A question waits in the inbox like a request, and the answer is the
 * tool's result. Without a turn (in an executor alone) nobody can be asked, and the call fails.
 *
 * @throws CountersignError `config_invalid` for a wrong option, or a form that a person could not fill in.
 * @example
 * export default defineAgent({
 *   name: 'travel',
 *   instructions: 'You plan journeys. Ask when you do not know what the traveller prefers.',
 *   model: offlineModel(),
 *   tools: [askUser({ expires: '2 days' })],
 * });
 */
export function askUser(options: AskUserOptions = {}): Tool {
  checkedOptions(optionsSchema, options, (words) =>
    invalidDefinition('tool', { name: 'ask_user' }, new Error(words)),
  );
  const { name = 'ask_user', expires, form, ownForms = true } = options;
  const usual = form === undefined ? PLAIN_FORM : formOf(form, name);
  const tool = defineTool({
    name,
    description: DESCRIPTION,
    parameters: ownForms ? z.object({ question, schema: ownForm.optional() }) : z.object({ question }),
    safety: 'safe',
    effect: 'pure',
    requestExpires: expires,
    handler: () => {
      throw new ToolError('Nobody can be asked here: a question needs a turn. Nothing was asked.');
    },
  });
  return Object.freeze<Tool>({ ...tool, asks: (value) => toQuestion(value, usual) });
}

function formOf(form: Parameters, name: string): JsonSchema {
  try {
    const made = toForm(resolveParameters(form).schema);
    if (made.ok) return made.form;
    throw new Error(made.issues.map(({ path, message }) => `\`form${path}\` ${message}`).join('; '));
  } catch (error) {
    throw invalidDefinition('tool', { name }, error);
  }
}

function toQuestion(value: unknown, usual: JsonSchema) {
  const { question: text, schema } = isObject(value) ? value : {};
  const made = schema === undefined ? undefined : toForm(schema);
  return { text: typeof text === 'string' ? text : '', form: made?.ok === true ? made.form : usual };
}
