import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { FILTER_CHARACTERS } from '../../contract/limits';
import type { Label } from '../../history/labels';
import { hrefOf } from '../model/route';
import { dateTime, relative } from '../../contract/text/times';
import type { ApiError } from '../../server/api';
import { countdown, errorText, urgencyOf } from '../model/labels';
import { useNow } from './app';
import { Text, visibleText } from './text';

/** A state in words. */
export function Chip({ of: [text, tone] }: { of: Label }) {
  return <span class={`chip ${tone}`}>{text}</span>;
}

/**
 * The key of a button, for the eyes only: a screen reader gets it from `aria-keyshortcuts`. A touch screen shows no
 * keys.
 */
export function Key({ of }: { of: string }) {
  return <kbd aria-hidden="true">{of}</kbd>;
}

type ButtonProps = JSX.IntrinsicElements['button'] & {
  /** Further classes. */
  look?: string;
};

/** A button. Without `type="submit"` it sends no form. */
export function Button({ look = '', ...props }: ButtonProps) {
  return <button class={`button ${look}`} type="button" {...props} />;
}

interface OpenerProps extends Omit<ButtonProps, 'open'> {
  label: string;
  dialog: (close: () => void) => JSX.Element;
}

/** A button that opens a dialog. */
export function Opener({ label, dialog, ...button }: OpenerProps) {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <Button {...button} onClick={() => setOpen(true)}>
        {label}
      </Button>
      {isOpen && dialog(() => setOpen(false))}
    </>
  );
}

/** A link to a turn, by its id. */
export function TurnLink({ of }: { of: string }) {
  return (
    <a href={hrefOf({ at: 'turn', turn: of })}>
      <Text of={of} />
    </a>
  );
}

interface SelectProps {
  id: string;
  /** The label for screen readers. The options show what the choice is about. */
  label: string;
  value: string;
  /** The value and the text of each option. */
  options: readonly (readonly [string, string])[];
  choose: (value: string) => void;
}

/** A choice of one option. */
export function Select({ id, label, value, options, choose }: SelectProps) {
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

interface SearchProps {
  id: string;
  label: string;
  placeholder: string;
  /** The current search words. */
  value: string;
  /** Called a moment after the last keystroke. */
  change: (value: string) => void;
}

/** How many milliseconds after the last keystroke the search starts. */
const TYPING_MS = 250;

/** A field for words to search for. */
export function SearchField({ id, label, placeholder, value, change }: SearchProps) {
  const [text, setText] = useState(value);
  const last = useRef(value);
  useEffect(() => {
    // The value was changed elsewhere: by Clear, or by Back.
    if (value !== last.current) setText(value);
    last.current = value;
  }, [value]);
  useEffect(() => {
    if (text === value) return;
    const timer = setTimeout(() => {
      last.current = text;
      change(text);
    }, TYPING_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return (
    <input
      id={id}
      type="search"
      aria-label={label}
      placeholder={placeholder}
      maxLength={FILTER_CHARACTERS}
      value={text}
      onInput={({ currentTarget }) => setText(currentTarget.value)}
    />
  );
}

/** How long ago a time was. The title has its date. */
export function Ago({ at }: { at: string }) {
  const now = useNow();
  return (
    <time dateTime={at} title={dateTime(at)}>
      {relative(at, now)}
    </time>
  );
}

/** A time, and how long ago that was. */
export function When({ at }: { at: string }) {
  return (
    <>
      {dateTime(at)}, <Ago at={at} />
    </>
  );
}

/** A countdown to the deadline of a request. The title has its date. */
export function Deadline({ of: deadline }: { of: string | null }) {
  const now = useNow();
  const title = deadline === null ? 'It waits until a person decides' : `Expires ${dateTime(deadline)}`;
  return (
    <time class={`deadline ${urgencyOf(deadline, now)}`} dateTime={deadline ?? undefined} title={title}>
      {countdown(deadline, now)}
    </time>
  );
}

interface UnreadableProps {
  what: 'turn' | 'conversation';
  problem: ApiError;
  /** What else to say if it does not exist. */
  children?: ComponentChildren;
}

/** Shown in place of a turn or a conversation that cannot be read. */
export function Unreadable({ what, problem, children }: UnreadableProps) {
  const isGone = problem.code === 'not_found';
  return (
    <div class="empty" role="alert">
      <h1 class="pane-title">{isGone ? `There is no such ${what}` : `The ${what} cannot be read`}</h1>
      <p>
        <Text of={isGone ? problem.message : errorText(problem)} />
      </p>
      {isGone && children}
      <p>
        <a href={hrefOf({ at: `${what}s` })}>All {what}s</a>
      </p>
    </div>
  );
}

/** A click within this time after another one, in milliseconds, may be the second half of a double click. */
const DOUBLE_MS = 400;

/**
 * Asks a person before `act`: the first click asks, and a later one acts. What asks and what acts may be in the same
 * place, so a double click only asks.
 */
export function useSure(act: () => void) {
  const [askedAt, setAskedAt] = useState(Infinity);
  const ask = ({ timeStamp }: Event) => setAskedAt(timeStamp);
  const forget = () => setAskedAt(Infinity);
  const click = (event: Event) => {
    if (event.timeStamp - askedAt <= DOUBLE_MS) return ask(event);
    forget();
    act();
  };
  return { isAsked: askedAt < Infinity, ask, click, forget };
}

interface SureProps {
  label: string;
  /** Tells this button from others for screen readers. */
  of?: string;
  /** What a second click does, said after the first one. */
  says?: string;
  act: () => void;
}

/** A button that ends or allows something. The first click only asks. */
export function SureButton({ label, of, says, act }: SureProps) {
  const { isAsked, click, forget } = useSure(act);
  return (
    <>
      {says !== undefined && <p role="status">{isAsked && <Text of={says} />}</p>}
      <Button onClick={click} onBlur={forget}>
        {isAsked ? `${label} it now` : `${label} …`}
        {of !== undefined && <span class="sr-only"> {of}</span>}
      </Button>
    </>
  );
}

interface DialogProps {
  /** The id of its heading. */
  titleId: string;
  isWide?: boolean;
  /** Called after the dialog was closed. */
  close: () => void;
  children: ComponentChildren;
}

/** A dialog that is open as long as it is rendered. It belongs to the current screen only. */
export function Dialog({ titleId, isWide = false, close, children }: DialogProps) {
  const ref = useRef<HTMLDialogElement>(null);
  // The cleanup of a layout effect still finds the dialog in the page.
  useLayoutEffect(() => {
    ref.current?.showModal();
    // Back leaves the screen on which the dialog was opened.
    const leave = (): void => ref.current?.close();
    addEventListener('hashchange', leave);
    return () => {
      removeEventListener('hashchange', leave);
      // A dialog that is removed while it is open does not give the focus back.
      leave();
    };
  }, []);
  // The browser reports late that a removed dialog was closed. By then the same button may have opened another one.
  const closed = () => {
    if (ref.current !== null) close();
  };
  return (
    <dialog ref={ref} class={`card${isWide ? ' wide' : ''}`} aria-labelledby={titleId} onClose={closed}>
      {children}
    </dialog>
  );
}

interface FormDialogProps extends Pick<DialogProps, 'close' | 'children'> {
  /** The beginning of the id of its heading. */
  name: string;
  title: string;
  /** The words of the button that acts. */
  label: string;
  isAllowed: boolean;
  isDanger?: boolean;
  act: () => void;
}

/** A dialog with fields, and a button that acts on them. */
export function FormDialog(props: FormDialogProps) {
  const { name, title, label, isAllowed, isDanger = false, act, close, children } = props;
  const submit = (event: Event) => {
    event.preventDefault();
    if (isAllowed) act();
  };
  return (
    <Dialog titleId={`${name}-title`} close={close}>
      <h2 id={`${name}-title`}>{title}</h2>
      <form class="grant-form" onSubmit={submit}>
        {children}
        <p class="buttons">
          <Button onClick={close}>Close</Button>
          <Button look={isDanger ? 'danger' : 'primary'} type="submit" aria-disabled={!isAllowed}>
            {label}
          </Button>
        </p>
      </form>
    </Dialog>
  );
}
