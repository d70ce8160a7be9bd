import { digestJson } from '../../contract/digest';
import type { JsonObject } from '../../contract/json';
import { editText } from '../terminal/editor';
import { documentOf, readDocument, type Draft, type EditSubject } from './document';

/** What to edit, and what it was. */
export interface EditTask extends EditSubject {
  /** The arguments before the edit. */
  before: JsonObject;
  env: NodeJS.ProcessEnv;
}

/** New arguments, with their text for another round; or why the person gave up. */
export type EditOutcome = { arguments: JsonObject; body: string } | 'empty' | 'unchanged';

/**
 * Lets a person edit arguments until they are JSON, or given up: with an empty file, with one left as it was, or with
 * arguments that are those from before.
 *
 * @throws CountersignError `editor_failed`.
 */
export async function editArguments(first: Draft, task: EditTask): Promise<EditOutcome> {
  let draft = first;
  for (;;) {
    const text = documentOf(draft, task);
    const left = await editText({ text, name: 'arguments.jsonc', env: task.env });
    if (left === text) return 'unchanged';
    const edited = readDocument(left);
    if (edited.outcome === 'empty') return 'empty';
    if (edited.outcome === 'arguments') {
      const same = digestJson(edited.arguments) === digestJson(task.before);
      return same ? 'unchanged' : { arguments: edited.arguments, body: edited.body };
    }
    draft = edited.draft;
  }
}
