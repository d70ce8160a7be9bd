import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { segments } from '../../../contract/text/unsafe-text';
import {
  type ArgumentsDraft,
  parseNumber,
  type Path,
  pointerOf,
  setAt,
  setNumber,
  setText,
  valueAt,
} from '../../model/draft';
import type { Field } from '../../model/fields';
import { Pieces, Text, visibleText } from '../../ui/text';
import type { Issue } from '../../../contract/tool';

/** The props of every input. */
export interface InputProps {
  field: Field;
  path: Path;
  draft: ArgumentsDraft;
  setDraft: (draft: ArgumentsDraft) => void;
  id: string;
  isInvalid: boolean;
  describedBy: string;
}

/** Longer texts get an input of several lines. */
const ONE_LINE = 72;

/** Text of one or more lines. When an input would not show all characters, the text with marks is below it. */
export function TextInput({ field, path, draft, setDraft, ...rest }: InputProps): JSX.Element {
  const value = valueAt(draft.value, path);
  const text = typeof value === 'string' ? value : value === undefined ? '' : JSON.stringify(value);
  const isLong = field.kind === 'lines' || text.includes('\n') || text.length > ONE_LINE;
  const take = (typed: string): void => setDraft(setAt(draft, path, typed));
  const marked = segments(text, 'block');
  return (
    <>
      {isLong ? (
        <textarea
          {...common(rest)}
          class="code"
          rows={Math.min(16, text.split('\n').length + 1)}
          value={text}
          onInput={({ currentTarget }) => take(currentTarget.value)}
        />
      ) : (
        <input
          {...common(rest)}
          type="text"
          value={text}
          onInput={({ currentTarget }) => take(currentTarget.value)}
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

/** A number. Other text stays as typed and is marked as wrong. */
export function NumberInput({ path, draft, setDraft, ...rest }: InputProps): JSX.Element {
  const value = valueAt(draft.value, path);
  const inDraft = typeof value === 'string' ? value : JSON.stringify(value ?? '');
  const given = draft.texts[pointerOf(path)] ?? inDraft;
  const [text, setTyped] = useState(given);
  // A person who types `1.05` types `1.` and `1.0` first, so the text stays until the value changes.
  useEffect(() => {
    if (parseNumber(text) !== value) setTyped(given);
  }, [value]);
  return (
    <input
      {...common(rest)}
      type="text"
      inputMode="decimal"
      value={text}
      onInput={({ currentTarget }) => {
        setTyped(currentTarget.value);
        setDraft(setNumber(draft, path, currentTarget.value));
      }}
    />
  );
}

/** Yes or no. */
export function YesNoInput({ path, draft, setDraft, ...rest }: InputProps): JSX.Element {
  return (
    <input
      {...common(rest)}
      type="checkbox"
      checked={valueAt(draft.value, path) === true}
      onChange={({ currentTarget }) => setDraft(setAt(draft, path, currentTarget.checked))}
    />
  );
}

/** One of a few values. Any other value is shown unchanged. */
export function ChoiceInput({ field, path, draft, setDraft, ...rest }: InputProps): JSX.Element {
  const options = field.options ?? [];
  const value = JSON.stringify(valueAt(draft.value, path) ?? null);
  const chosen = options.findIndex((option) => JSON.stringify(option) === value);
  return (
    <select
      {...common(rest)}
      value={String(chosen)}
      onChange={({ currentTarget }) => setDraft(setAt(draft, path, options[Number(currentTarget.value)]))}
    >
      {chosen < 0 && <option value="-1">{visibleText(value)}</option>}
      {options.map((option, index) => (
        <option key={index} value={String(index)}>
          {visibleText(typeof option === 'string' ? option : JSON.stringify(option))}
        </option>
      ))}
    </select>
  );
}

/** Any value, as JSON. */
export function JsonInput({ path, draft, setDraft, ...rest }: InputProps): JSX.Element {
  const value = valueAt(draft.value, path);
  const given = draft.texts[pointerOf(path)] ?? JSON.stringify(value ?? null, null, 2);
  const [text, setTyped] = useState(given);
  return (
    <textarea
      {...common(rest)}
      class="code"
      rows={Math.min(16, text.split('\n').length + 1)}
      value={text}
      onInput={({ currentTarget }) => {
        setTyped(currentTarget.value);
        setDraft(setText(draft, path, currentTarget.value));
      }}
    />
  );
}

function common({ id, isInvalid, describedBy }: Pick<InputProps, 'id' | 'isInvalid' | 'describedBy'>) {
  return { id, 'aria-invalid': isInvalid, 'aria-describedby': describedBy, spellcheck: false };
}

/** The issues of a field. `withPath`: when they are not beside it. */
export function Issues({
  of,
  id,
  withPath = false,
}: {
  of: readonly Issue[];
  id: string;
  withPath?: boolean;
}): JSX.Element {
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
}

/** What a person writes in their own words, with its label. */
export function LinesInput({ id, label, rows, text, setText: set }: LinesInputProps): JSX.Element {
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <textarea
        id={id}
        dir="auto"
        rows={rows}
        maxLength={4_000}
        value={text}
        onInput={({ currentTarget }) => set(currentTarget.value)}
      />
    </div>
  );
}
