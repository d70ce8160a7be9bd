import type { ComponentChildren, JSX } from 'preact';
import type { Issue } from '../../../contract/tool';
import { issuesAt, pointerOf, setAt, valueAt, type ArgumentsDraft, type Path } from '../../model/form/draft';
import type { Field } from '../../model/form/fields';
import { Text } from '../../parts/text';
import { ChoiceInput, JsonInput, NumberInput, TextInput, YesNoInput, type InputProps } from './inputs';
import { Issues } from './issues';

/** One place of the form, and what is below it. */
export interface FieldProps {
  field: Field;
  path: Path;
  draft: ArgumentsDraft;
  setDraft: (draft: ArgumentsDraft) => void;
  issues: readonly Issue[];
  /** Takes an item out of its list. */
  remove?: () => void;
}

/** A field with its label, its help and what is wrong with it. An optional one that is absent can be added. */
export function FieldView(props: FieldProps): JSX.Element {
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
  const id = idOf(path);
  const input: InputProps = {
    ...{ field, path, draft, setDraft, id },
    isInvalid: issues.length > 0,
    describedBy: `${id}-help ${id}-issues`,
  };
  return (
    <div class={`field${issues.length > 0 ? ' invalid' : ''}`}>
      <div class="field-head">
        <label for={id}>
          <Text of={nameOf(props)} />
        </label>
        <Remove {...props} />
      </div>
      <Description of={field.description} id={`${id}-help`} />
      <Input {...input} />
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
  const { field, path } = props;
  return (
    <Group {...props}>
      {(field.fields ?? []).map(({ name, field: inner }) => (
        <FieldView key={name} {...{ ...shared(props), field: inner, path: [...path, name] }} />
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
          {...shared(props)}
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

function shared({ draft, setDraft, issues }: FieldProps): Pick<FieldProps, 'draft' | 'setDraft' | 'issues'> {
  return { draft, setDraft, issues };
}

function nameOf({ field, path }: FieldProps): string {
  return field.label === '' ? String(path.at(-1) ?? '') : field.label;
}

function idOf(path: Path): string {
  return `field${pointerOf(path)}`;
}
