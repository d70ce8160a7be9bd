import type { ComponentChildren, JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { Issue, JsonSchema } from '../../../contract/tool';
import {
  type ArgumentsDraft,
  issuesAt,
  type Path,
  pointerOf,
  setAt,
  setText,
  valueAt,
} from '../../model/draft';
import { type Field, formOf } from '../../model/fields';
import {
  ChoiceInput,
  type InputProps,
  Issues,
  JsonInput,
  NumberInput,
  TextInput,
  YesNoInput,
} from './inputs';
import { Text } from '../../ui/text';

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

/** One field of the form, and the fields below it. */
interface FieldProps {
  field: Field;
  path: Path;
  draft: ArgumentsDraft;
  setDraft: (draft: ArgumentsDraft) => void;
  issues: readonly Issue[];
  /** Removes an item from its list. */
  remove?: () => void;
}

/** A field with its label, its help and its issues. An absent optional field can be added. */
function FieldView(props: FieldProps): JSX.Element {
  const { field, path, draft, setDraft } = props;
  const value = valueAt(draft.value, path);
  if (value === undefined && !field.required) {
    return (
      <p class="field absent">
        <button
          class="button plain"
          type="button"
          onClick={() => setDraft(setAt(draft, path, field.initial))}
        >
          + <Text of={nameOf(props)} />
        </button>
        <Description of={field.description} />
      </p>
    );
  }
  if (field.kind === 'object') return <ObjectField {...props} />;
  if (field.kind === 'list') return <ListField {...props} />;
  return <SingleField {...props} />;
}

function SingleField(props: FieldProps): JSX.Element {
  const { field, path, draft, setDraft } = props;
  const issues = issuesAt(props.issues, path);
  const isInvalid = issues.length > 0;
  const id = idOf(path);
  const describedBy = `${id}-help ${id}-issues`;
  return (
    <div class={`field${isInvalid ? ' invalid' : ''}`}>
      <div class="field-head">
        <label for={id}>
          <Text of={nameOf(props)} />
        </label>
        <Remove {...props} />
      </div>
      <Description of={field.description} id={`${id}-help`} />
      <Input {...{ field, path, draft, setDraft, id, isInvalid, describedBy }} />
      <Issues of={issues} id={`${id}-issues`} />
    </div>
  );
}

function Input(props: InputProps): JSX.Element {
  switch (props.field.kind) {
    case 'number':
    case 'integer':
      return <NumberInput {...props} />;
    case 'boolean':
      return <YesNoInput {...props} />;
    case 'choice':
      return <ChoiceInput {...props} />;
    case 'json':
      return <JsonInput {...props} />;
    default:
      return <TextInput {...props} />;
  }
}

function ObjectField(props: FieldProps): JSX.Element {
  const { remove: _, ...shared } = props;
  return (
    <Group {...props}>
      {(props.field.fields ?? []).map(({ name, field }) => (
        <FieldView key={name} {...shared} field={field} path={[...props.path, name]} />
      ))}
    </Group>
  );
}

function ListField(props: FieldProps): JSX.Element {
  const { field, path, draft, setDraft } = props;
  const value = valueAt(draft.value, path);
  const item = field.item;
  if (!Array.isArray(value) || item === undefined)
    return <SingleField {...props} field={{ ...field, kind: 'json' }} />;
  const add = (): void => setDraft(setAt(draft, [...path, value.length], item.initial));
  return (
    <Group {...props}>
      {value.map((_, index) => (
        <FieldView
          key={index}
          {...props}
          field={{ ...item, label: item.label === '' ? String(index + 1) : `${item.label} ${index + 1}` }}
          path={[...path, index]}
          remove={() => setDraft(setAt(draft, [...path, index], undefined))}
        />
      ))}
      <button class="button plain" type="button" onClick={add}>
        + another
      </button>
    </Group>
  );
}

function Group(props: FieldProps & { children: ComponentChildren }): JSX.Element {
  const { field, path, children } = props;
  const id = idOf(path);
  return (
    <fieldset class="field group" aria-describedby={`${id}-issues`}>
      <legend>
        <Text of={nameOf(props)} />
        <Remove {...props} />
      </legend>
      <Description of={field.description} />
      <Issues of={issuesAt(props.issues, path)} id={`${id}-issues`} />
      {children}
    </fieldset>
  );
}

function Remove(props: FieldProps): JSX.Element | null {
  const { field, path, draft, setDraft, remove } = props;
  const act = remove ?? (field.required ? undefined : () => setDraft(setAt(draft, path, undefined)));
  if (act === undefined) return null;
  return (
    <button class="button plain" type="button" onClick={act}>
      Remove<span class="sr-only"> {nameOf(props)}</span>
    </button>
  );
}

function Description({ of, id }: { of: string | undefined; id?: string }): JSX.Element | null {
  if (of === undefined) return null;
  return (
    <span class="help" id={id}>
      <Text of={of} layout="block" />
    </span>
  );
}

function nameOf({ field, path }: FieldProps): string {
  return field.label === '' ? String(path.at(-1) ?? '') : field.label;
}

function idOf(path: Path): string {
  return `field${pointerOf(path)}`;
}
