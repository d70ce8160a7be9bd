import { isJsonObject, isObject, type Json, type JsonObject } from './json';
import { withDefaults } from './schema/schema';
import { jsonObject, object, type Of, text } from './schema/shape';

/** Who asked, under a rule with `notRequester`. */
export const WORDS_COUNT =
  'The model reads this, so you then count as one of those who asked, and a rule with notRequester wants others to approve.';

/** An agent's question to a person. The answer is never a permission. */
export interface Question extends Of<typeof QUESTION> {}

export const QUESTION = object({
  text: text(),
  /**
   * The schema of an answer: a flat object of texts, numbers, yes or no, and choices. Only `toForm` of
   * `schema/question-form` makes it.
   */
  form: jsonObject(),
});

/** One field of a form, as screens show it. */
export interface QuestionField {
  name: string;
  /** The title of the field, or its name. */
  label: string;
  kind: 'text' | 'number' | 'integer' | 'boolean' | 'choice';
  required: boolean;
  description?: string;
  /** Only with `choice`: the choices. */
  options?: string[];
  /** A format such as `email`. */
  format?: string;
  default?: Json;
}

/** A person's values in the order of the form, with defaults for the fields that were left out. */
export function completeAnswer({ form }: Pick<Question, 'form'>, content: JsonObject): JsonObject {
  const filled = Object.entries(withDefaults(form, content));
  const names = Object.keys(isObject(form['properties']) ? form['properties'] : {});
  const placeOf = ([name]: [string, Json]) => (names.indexOf(name) + names.length + 1) % (names.length + 1);
  return Object.fromEntries(filled.sort((one, other) => placeOf(one) - placeOf(other)));
}

/** The fields of a form, in its order. A field that cannot be read is left out: a form from outside may have one. */
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
    description: typeof description === 'string' && description !== '' ? description : undefined,
    format: typeof format === 'string' ? format : undefined,
    options,
    default: given,
  };
}
