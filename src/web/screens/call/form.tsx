import { pointerOf } from '../../../contract/json';
import type { ComponentChildren, JSX } from 'preact';
import { useRef, useState } from 'preact/hooks';
import type { Issue, JsonSchema } from '../../../contract/tool';
import {
  type ArgumentsDraft,
  issuesAt,
  issuesWithin,
  type Path,
  putBack,
  setAt,
  valueAt,
} from '../../model/draft';
import { type Field, formOf, variantOf, withUnnamed } from '../../model/argument-form';
import { Input, Issues } from './inputs';
import { SeenEnd } from '../../ui/seen';
import { Text, visibleText } from '../../ui/text';
import { Button, Select } from '../../ui/widgets';

/** One field of the form, and the fields below it. */
interface FieldProps {
  field: Field;
  path: Path;
  draft: ArgumentsDraft;
  setDraft: (draft: ArgumentsDraft) => void;
  issues: readonly Issue[];
  /** Removes an item from its list. */
  remove?: () => void;
  /** The choice between the kinds of a value that may have several. */
  choice?: JSX.Element;
}

interface FormProps extends Pick<FieldProps, 'draft' | 'setDraft' | 'issues'> {
  schema: JsonSchema | undefined;
}

/** The arguments as a form that the schema describes. */
export function ArgumentsForm({ schema, ...props }: FormProps) {
  const { draft, issues } = props;
  const form = formOf(schema, draft.value);
  if (form.kind === 'union') return <UnionField {...props} field={form} path={[]} />;
  return (
    <>
      <Issues of={issuesAt(issues, [])} id="issues-all" />
      {(withUnnamed(form, draft.value).fields ?? []).map(({ name, field }) => (
        <FieldView key={name} {...props} field={field} path={[name]} />
      ))}
    </>
  );
}

/** A field with its label, its help and its issues. An absent optional field can be added. */
function FieldView(props: FieldProps) {
  const { field, path, draft, setDraft } = props;
  const value = valueAt(draft.value, path);
  if (value === undefined && !field.required) {
    return (
      <p class="field absent">
        <Button
          look="plain"

          onClick={() => setDraft(setAt(draft, path, field.initial))}
        >
          + <Text of={nameOf(props)} />
        </Button>
        <Help {...props} />
      </p>
    );
  }
  if (field.kind === 'union') return <UnionField {...props} />;
  if (field.kind === 'object') return <ObjectField {...props} />;
  if (field.kind === 'list') return <ListField {...props} />;
  return <SingleField {...props} />;
}

/**
 * A value of one of several kinds: first the choice of the kind, then the field of that kind. Choosing another kind and
 * coming back restores what was typed.
 */
function UnionField(props: FieldProps) {
  const { field, path, draft, setDraft } = props;
  const variants = field.variants ?? [];
  const value = valueAt(draft.value, path);
  const [wish, setWish] = useState<number>();
  const typed = useRef<Parameters<typeof putBack>[2][]>([]).current;
  const at = variantOf(variants, value, wish);
  const chosen = variants[at];
  const choose = (next: number) => {
    const variant = variants[next];
    if (variant === undefined) return;
    typed[at] = [draft, path];
    setWish(next);
    const back = typed[next];
    setDraft(back ? putBack(draft, path, back) : setAt(draft, path, variant.initial));
  };
  const options = variants.map(({ label }, index) => [String(index), label] as const);
  const choice = (
    <Select
      id={`${idOf(path)}-kind`}
      label={`Kind of ${visibleText(nameOf(props))}`}
      value={String(at)}
      options={at < 0 ? [['-1', 'something else'], ...options] : options}
      choose={(next) => choose(Number(next))}
    />
  );
  const { description = chosen?.description, limits = chosen?.limits } = field;
  const named = { label: field.label, required: field.required, description, limits };
  const inner: Field = { kind: 'json', initial: null, ...chosen, ...named };
  return <FieldView key={at} {...props} field={inner} choice={choice} />;
}

function SingleField(props: FieldProps) {
  const { field, path, draft, setDraft } = props;
  const isJson = field.kind === 'json';
  const issues = isJson ? issuesWithin(props.issues, path) : issuesAt(props.issues, path);
  const isInvalid = issues.length > 0;
  const id = idOf(path);
  const describedBy = `${id}-help ${id}-issues`;
  return (
    <div class={`field kind-${field.kind}${isInvalid ? ' invalid' : ''}`}>
      <div class="field-head">
        <label for={id}>
          <Text of={nameOf(props)} />
        </label>
        {props.choice}
        <Remove {...props} />
      </div>
      <Help {...props} />
      <Input {...{ field, path, draft, setDraft, id, isInvalid, describedBy }} />
      <SeenEnd />
      <Issues of={issues} id={`${id}-issues`} withPath={isJson} />
    </div>
  );
}

function ObjectField(props: FieldProps) {
  const { remove: _, choice: __, ...shared } = props;
  const { fields = [] } = withUnnamed(props.field, valueAt(props.draft.value, props.path));
  return (
    <Group {...props}>
      {fields.map(({ name, field }) => (
        <FieldView key={name} {...shared} field={field} path={[...props.path, name]} />
      ))}
    </Group>
  );
}

function ListField(props: FieldProps) {
  const { field, path, draft, setDraft } = props;
  const value = valueAt(draft.value, path);
  const item = field.item;
  // One key for each item, so that an item keeps its inputs when another item goes.
  const keys = useRef<object[]>([]).current;
  if (!Array.isArray(value) || item === undefined)
    return <SingleField {...props} field={{ ...field, kind: 'json' }} />;
  const add = () => setDraft(setAt(draft, [...path, value.length], item.initial));
  const { choice: _, ...shared } = props;
  return (
    <Group {...props}>
      {value.map((_, index) => (
        <FieldView
          key={(keys[index] ??= {})}
          {...shared}
          field={{ ...item, label: item.label === '' ? String(index + 1) : `${item.label} ${index + 1}` }}
          path={[...path, index]}
          remove={() => {
            keys.splice(index, 1);
            setDraft(setAt(draft, [...path, index], undefined));
          }}
        />
      ))}
      <Button look="plain" onClick={add}>
        + another
      </Button>
    </Group>
  );
}

function Group(props: FieldProps & { children: ComponentChildren }) {
  const { path, children } = props;
  const id = idOf(path);
  return (
    <fieldset class="field group" aria-describedby={`${id}-issues`}>
      <legend>
        <Text of={nameOf(props)} />
        {props.choice}
        <Remove {...props} />
      </legend>
      <Help {...props} />
      <Issues of={issuesAt(props.issues, path)} id={`${id}-issues`} />
      {children}
    </fieldset>
  );
}

function Remove(props: FieldProps) {
  const { field, path, draft, setDraft, remove } = props;
  const act = remove ?? (field.required ? undefined : () => setDraft(setAt(draft, path, undefined)));
  if (act === undefined) return null;
  return (
    <Button look="plain" onClick={act}>
      {remove ? 'Remove' : 'Leave out'}
      <span class="sr-only"> {nameOf(props)}</span>
    </Button>
  );
}

/** The description and limits of a value in the schema, shown before a person types a wrong value. */
function Help({ field, path }: FieldProps) {
  const { description, limits } = field;
  if (description === undefined && limits === undefined) return null;
  return (
    <span class="help" id={`${idOf(path)}-help`}>
      {description !== undefined && <Text of={description} layout="block" />}
      {limits !== undefined && (
        <span class="limits">
          <Text of={limits} />
        </span>
      )}
    </span>
  );
}

function nameOf({ field, path }: FieldProps) {
  return field.label === '' ? String(path.at(-1) ?? 'the arguments') : field.label;
}

function idOf(path: Path) {
  // Lists of ids are split at blanks, so an id must not contain one.
  return `field${pointerOf(path).replace(/[\s%]/g, (char) => `%${char.charCodeAt(0).toString(16)}`)}`;
}
