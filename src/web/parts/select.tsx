import type { JSX } from 'preact';
import { visibleText } from './visible-text';

interface SelectProps {
  id: string;
  /** Read out; the choice itself says what it is about. */
  label: string;
  value: string;
  /** Value and text of each. */
  options: readonly (readonly [string, string])[];
  choose: (value: string) => void;
}

/** A choice of one. */
export function Select({ id, label, value, options, choose }: SelectProps): JSX.Element {
  return (
    <select
      id={id}
      aria-label={label}
      value={value}
      onChange={({ currentTarget }) => choose(currentTarget.value)}
    >
      {options.map(([key, text]) => (
        <option key={key} value={key} selected={key === value}>
          {visibleText(text)}
        </option>
      ))}
    </select>
  );
}
