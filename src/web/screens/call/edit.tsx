import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { Issue, JsonSchema } from '../../../contract/tool';
import { issuesAt, setText, type ArgumentsDraft } from '../../model/form/draft';
import { formOf } from '../../model/form/fields';
import { FieldView } from './field';
import { Issues } from './issues';

interface EditProps {
  draft: ArgumentsDraft;
  setDraft: (draft: ArgumentsDraft) => void;
  schema: JsonSchema | undefined;
  issues: readonly Issue[];
  close: () => void;
}

/** The arguments as a form made from the schema, or as JSON. */
export function EditArguments({ draft, setDraft, schema, issues, close }: EditProps): JSX.Element {
  const [isRaw, setRaw] = useState(schema === undefined);
  const form = formOf(schema, draft.value);
  return (
    <div class="edit" id="edit">
      <div class="edit-head" role="group" aria-label="Edit as">
        <button class="button tab" type="button" aria-pressed={!isRaw} onClick={() => setRaw(false)}>
          Form
        </button>
        <button class="button tab" type="button" aria-pressed={isRaw} onClick={() => setRaw(true)}>
          JSON
        </button>
        <button class="button plain" type="button" onClick={close}>
          Drop the changes
        </button>
      </div>
      {isRaw ? (
        <RawJson {...{ draft, setDraft, issues }} />
      ) : (
        <>
          <Issues of={issuesAt(issues, [])} id="issues-all" />
          {(form.fields ?? []).map(({ name, field }) => (
            <FieldView key={name} {...{ field, path: [name], draft, setDraft, issues }} />
          ))}
        </>
      )}
    </div>
  );
}

function RawJson({ draft, setDraft, issues }: Pick<EditProps, 'draft' | 'setDraft' | 'issues'>): JSX.Element {
  const [text, setTyped] = useState(() => draft.texts[''] ?? JSON.stringify(draft.value, null, 2));
  return (
    <div class="field">
      <label for="raw">Arguments as JSON</label>
      <textarea
        id="raw"
        class="code"
        rows={Math.min(24, text.split('\n').length + 1)}
        spellcheck={false}
        value={text}
        aria-invalid={issues.length > 0}
        aria-describedby="raw-issues"
        onInput={({ currentTarget }) => {
          setTyped(currentTarget.value);
          setDraft(setText(draft, [], currentTarget.value));
        }}
      />
      <Issues of={issues} id="raw-issues" withPath />
    </div>
  );
}
