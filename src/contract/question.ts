import { isJsonObject, isObject, type Json, type JsonObject } from './json';
import { withDefaults } from './schema/schema';
import { type AnswerKey, secretFor } from './secret/sealed';
import type { JsonSchema } from './tool';

/** What an agent asks a person. Its answer is never a permission. */
export interface Question {
  text: string;
  /** What an answer has to fit: a flat object of texts, numbers, yes or no, and choices. Made by `toForm` of `schema/form` only. */
  form: JsonSchema;
  /** Only of a form with secret fields: what screens encrypt them with. */
  key?: AnswerKey;
}

/** One field of a form, as screens show it. */
export interface QuestionField {
  name: string;
  /** Its title, or its name. */
  label: string;
  kind: 'text' | 'number' | 'integer' | 'boolean' | 'choice';
  required: boolean;
  description?: string;
  /** With `choice`. */
  options?: string[];
  /** Such as `email`. */
  format?: string;
  default?: Json;
  /** Only of a secret field: the tools that may read it. */
  secretFor?: string[];
}

/** What a person filled in, in the order of the form, with the defaults of what they left out. */
export function completeAnswer({ form }: Pick<Question, 'form'>, content: JsonObject): JsonObject {
  const filled = Object.entries(withDefaults(form, content));
  const names = Object.keys(isObject(form['properties']) ? form['properties'] : {});
  const placeOf = ([name]: [string, Json]): number =>
    (names.indexOf(name) + names.length + 1) % (names.length + 1);
  return Object.fromEntries(filled.sort((one, other) => placeOf(one) - placeOf(other)));
}

/** The fields of a form, in its order. What cannot be read of a form that is not ours is left out. */
export function fieldsOf({ form }: Question): QuestionField[] {
  const { properties, required } = form;
  const needed: readonly unknown[] = Array.isArray(required) ? required : [];
  return Object.entries(isJsonObject(properties) ? properties : {}).flatMap(([name, field]) =>
    isJsonObject(field) ? fieldOf(name, field, needed.includes(name)) : [],
  );
}

function fieldOf(name: string, field: JsonObject, required: boolean): QuestionField {
  const { type, title, description, format, default: given, enum: listed } = field;
  const options = Array.isArray(listed) ? listed.filter((one) => typeof one === 'string') : undefined;
  const tools = secretFor(field);
  return {
    name,
    label: typeof title === 'string' && title !== '' ? title : name,
    kind:
      options !== undefined
        ? 'choice'
        : type === 'number' || type === 'integer' || type === 'boolean'
          ? type
          : 'text',
    required,
    ...(typeof description === 'string' && description !== '' ? { description } : {}),
    ...(options === undefined ? {} : { options }),
    ...(typeof format === 'string' ? { format } : {}),
    ...(given === undefined ? {} : { default: given }),
    ...(tools === undefined ? {} : { secretFor: tools }),
  };
}
