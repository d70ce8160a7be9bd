import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { LIMITS } from '../../../contract/limits';
import { readNumber } from '../../../contract/read-json';
import { fitsFormat } from '../../../contract/schema/values';
import { segments } from '../../../contract/text/unsafe-text';
import { type ArgumentsDraft, type Path, setAt, setNumber, setText, valueAt } from '../../model/draft';
import type { Field } from '../../model/argument-form';
import { byteNote } from '../../model/labels';
import { blocksOf } from '../../model/review';
import { SeenEnd } from '../../ui/seen';
import { Pieces, Text, visibleText } from '../../ui/text';
import type { Issue } from '../../../contract/tool';
import { type Json, pointerOf } from '../../../contract/json';

interface InputPlace {
  field: Field;
  path: Path;
  draft: ArgumentsDraft;
  setDraft: (draft: ArgumentsDraft) => void;
  id: string;
  isInvalid: boolean;
  describedBy: string;
}

/** The props of every input. */
interface InputProps {
  field: Field;
  value: Json | undefined;
  set: (value: Json | undefined) => void;
  /** What was typed, while it is not a value. */
  half: string | undefined;
  attributes: { id: string; 'aria-invalid': boolean; 'aria-describedby': string; spellcheck: boolean };
}

/** The input of a value, by the kind of its field. */
export function Input({ field, path, draft, setDraft, id, isInvalid, describedBy }: InputPlace) {
  const props: InputProps = {
    field,
    value: valueAt(draft.value, path),
    set: (value) => setDraft(setAt(draft, path, value)),
    half: draft.texts[pointerOf(path)]?.text,
    attributes: { id, 'aria-invalid': isInvalid, 'aria-describedby': describedBy, spellcheck: false },
  };
  switch (field.kind) {
    case 'number':
    case 'integer':
      return <NumberInput {...props} take={(text) => setDraft(setNumber(draft, path, text))} />;
    case 'boolean':
      return <YesNoInput {...props} />;
    case 'choice':
      return <ChoiceInput {...props} />;
    case 'date':
      return <DateInput {...props} />;
    case 'nothing':
      return (
        <output id={id} class="quiet">
          nothing (null)
        </output>
      );
    case 'json':
      return <JsonInput {...props} take={(text) => setDraft(setText(draft, path, text))} />;
    default:
      return <TextInput {...props} />;
  }
}

/** Longer texts get an input with several lines. */
const ONE_LINE = 48;

/**
 * An input for text of one or more lines. If the input would not show all characters, the text with marks is below the
 * input.
 */
function TextInput({ field, value, set, attributes }: InputProps) {
  const text = typeof value === 'string' ? value : value === undefined ? '' : JSON.stringify(value);
  const isLong = field.kind === 'lines' || text.includes('\n') || text.length > ONE_LINE;
  // The kind of input must not change while a person types, or the focus would be lost.
  const [startsLong] = useState(isLong);
  const marked = segments(text, 'block');
  return (
    <>
      {startsLong ? (
        <TextArea {...attributes} text={text} take={set} />
      ) : (
        <input
          {...attributes}
          class={widthOf(field)}
          type="text"
          value={text}
          onInput={({ currentTarget }) => set(currentTarget.value)}
        />
      )}
      {marked.some(({ kind }) => kind === 'mark') && (
        <p class="as-it-is">
          <span class="quiet">As it is:</span>{' '}
          <span class="code block">
            <Pieces of={marked} layout="block" />
          </span>
        </p>
      )}
    </>
  );
}

/** The width of an input: an order number does not need as much room as a letter. */
function widthOf({ mostCharacters = Infinity, limits = '' }: Field): string {
  if (mostCharacters <= 16) return 'narrow';
  return mostCharacters <= ONE_LINE || limits.startsWith('a') ? 'middle' : 'wide';
}

type AreaProps = InputProps['attributes'] & { text: string; take: (typed: string) => void };

/**
 * A text area as high as its text, so that the whole text is visible. A person has seen the text once each screen of it
 * was in view.
 */
export function TextArea({ text, take, ...rest }: AreaProps) {
  const ref = useRef<HTMLTextAreaElement>(null);
  const [blocks] = useState(() => blocksOf(segments(text, 'block')).length);
  useLayoutEffect(() => {
    const area = ref.current;
    if (area === null || CSS.supports('field-sizing', 'content')) return;
    area.style.height = 'auto';
    area.style.height = `${area.scrollHeight + 2}px`;
  }, [text]);
  return (
    <div class="grows">
      <textarea
        {...rest}
        ref={ref}
        class="code"
        rows={2}
        value={text}
        onInput={({ currentTarget }) => take(currentTarget.value)}
      />
      {Array.from({ length: blocks - 1 }, (_, index) => (
        <span key={index} class="seen-at" style={{ top: `${(100 * (index + 1)) / blocks}%` }}>
          <SeenEnd />
        </span>
      ))}
    </div>
  );
}

/** A date as text, which is checked, with a calendar beside it. */
function DateInput(props: InputProps) {
  const { value, set } = props;
  const isDate = typeof value === 'string' && fitsFormat('date', value) === true;
  return (
    <div class="date">
      <TextInput {...props} />
      <input
        class="calendar"
        type="date"
        aria-label="Calendar"
        value={isDate ? value : ''}
        onInput={({ currentTarget }) => {
          if (currentTarget.value !== '') set(currentTarget.value);
        }}
      />
    </div>
  );
}

/** The props of an input whose text may not be a value yet. */
interface TypedProps extends InputProps {
  take: (text: string) => void;
}

/** An input for a number. Other text stays as typed and is marked as wrong. */
function NumberInput({ value, half, take, attributes }: TypedProps) {
  const given = half ?? (typeof value === 'string' ? value : JSON.stringify(value ?? ''));
  const [text, setTyped] = useState(given);
  // A person who types `1.05` first types `1.` and `1.0`, so the text stays until the value changes.
  useEffect(() => {
    if (readNumber(text) !== value) setTyped(given);
  }, [value]);
  return (
    <input
      {...attributes}
      class="narrow"
      type="text"
      inputMode="decimal"
      value={text}
      onInput={({ currentTarget }) => {
        setTyped(currentTarget.value);
        take(currentTarget.value);
      }}
    />
  );
}

/** Yes or no. */
function YesNoInput({ value, set, attributes }: InputProps) {
  return (
    <input
      {...attributes}
      type="checkbox"
      checked={value === true}
      onChange={({ currentTarget }) => set(currentTarget.checked)}
    />
  );
}

/** A choice of one of a few values. Any other current value is shown unchanged. */
function ChoiceInput({ field: { options = [] }, value: current, set, attributes }: InputProps) {
  const value = JSON.stringify(current ?? null);
  const isThere = current !== undefined;
  const chosen = options.findIndex((option) => JSON.stringify(option) === value);
  return (
    <select
      {...attributes}
      value={String(chosen)}
      onChange={({ currentTarget }) => set(options[Number(currentTarget.value)])}
    >
      {chosen < 0 && <option value="-1">{isThere ? visibleText(value) : 'Choose one …'}</option>}
      {options.map((option, index) => (
        <option key={index} value={String(index)}>
          {visibleText(
            typeof option === 'string' ? option : option === null ? 'nothing' : JSON.stringify(option),
          )}
        </option>
      ))}
    </select>
  );
}

/** Any value, as JSON. */
function JsonInput({ value, half, take, attributes }: TypedProps) {
  const [text, setTyped] = useState(half ?? JSON.stringify(value ?? null, null, 2));
  const type = (typed: string) => {
    setTyped(typed);
    take(typed);
  };
  return <TextArea {...attributes} text={text} take={type} />;
}

/**
 * The issues of a field. `withPath`: each issue names its path, because the issues are not shown beside their fields.
 */
export function Issues({
  of,
  id,
  withPath = false,
}: {
  of: readonly Issue[];
  id: string;
  withPath?: boolean;
}) {
  return (
    <ul class="issues" id={id}>
      {of.map(({ path, message }, index) => (
        <li key={index}>
          {withPath && path !== '' && (
            <code>
              <Text of={path} />{' '}
            </code>
          )}
          <Text of={message} />
        </li>
      ))}
    </ul>
  );
}

interface LinesInputProps {
  id: string;
  label: string;
  rows: number;
  text: string;
  setText: (text: string) => void;
  /** The most bytes that the server takes. */
  mostBytes?: number;
}

/** A field for a person's own words, with its label. */
export function LinesInput({ id, label, rows, text, setText: set, ...more }: LinesInputProps) {
  const note = byteNote(text, more.mostBytes ?? LIMITS.reasonBytes);
  return (
    <div class={`field${note.isOver ? ' invalid' : ''}`}>
      <label for={id}>{label}</label>
      <textarea
        id={id}
        dir="auto"
        rows={rows}
        value={text}
        aria-invalid={note.isOver}
        aria-describedby={`${id}-note`}
        onInput={({ currentTarget }) => set(currentTarget.value)}
      />
      <span class="note" id={`${id}-note`} role="status">
        {note.text}
      </span>
    </div>
  );
}
