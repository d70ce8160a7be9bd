import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { segments } from '../../../contract/visible';
import {
  parseNumber,
  pointerOf,
  setAt,
  setText,
  valueAt,
  type ArgumentsDraft,
  type Path,
} from '../../model/form/draft';
import type { Field } from '../../model/form/fields';
import { Pieces } from '../../parts/text';
import { visibleText } from '../../parts/visible-text';

/** What every input is given. */
export interface InputProps {
  field: Field;
  path: Path;
  draft: ArgumentsDraft;
  setDraft: (draft: ArgumentsDraft) => void;
  id: string;
  isInvalid: boolean;
  describedBy: string;
}

/** Longer texts get lines to be read on. */
const ONE_LINE = 72;

/** Text of one or more lines. Below it stands how it reads where it holds what an input does not show. */
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
            <Pieces of={marked} />
          </span>
        </p>
      )}
    </>
  );
}

/** A number. What is none stays as it was typed and is said to be wrong. */
export function NumberInput({ path, draft, setDraft, ...rest }: InputProps): JSX.Element {
  const value = valueAt(draft.value, path);
  const given = typeof value === 'string' ? value : JSON.stringify(value ?? '');
  const [text, setTyped] = useState(given);
  // `1.` and `1.0` are on their way to `1.05`: the text is the person's until the value is another.
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
        setDraft(setAt(draft, path, parseNumber(currentTarget.value)));
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

/** One of a few values. A value that is none of them is shown as it is. */
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

/** Anything, as JSON. */
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
