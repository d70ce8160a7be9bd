import { useState } from 'preact/hooks';
import { dateTime } from '../../../contract/text/times';
import type { Issue, JsonSchema } from '../../../contract/tool';
import { lastWordOn, wordIn } from '../../../history/decisions';
import type { CallView } from '../../../history/view-types';
import { type ArgumentsDraft, setText } from '../../model/draft';
import { type Typed, typedParts } from '../../kept-input';
import { SeenEnd } from '../../ui/seen';
import { Text } from '../../ui/text';
import { focusToDecide } from '../../ui/late-keys';
import { Button, useSure } from '../../ui/widgets';
import { wordsBy } from '../../../history/labels';
import { Changes } from './content';
import { ArgumentsForm } from './form';
import { Issues, TextArea } from './inputs';

interface EditProps {
  draft: ArgumentsDraft;
  setDraft: (draft: ArgumentsDraft) => void;
  schema: JsonSchema | undefined;
  issues: readonly Issue[];
  /** Whether anything was typed that would be lost. */
  isChanged: boolean;
  close: () => void;
  /** Called on Ctrl+Enter. */
  submit?: () => void;
}

/** The arguments as a form made from the schema, or as JSON. */
export function EditArguments(props: EditProps) {
  const { draft, setDraft, schema, issues, submit } = props;
  const [isRaw, setRaw] = useState(schema === undefined || draft.texts[''] !== undefined);
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'Escape') leaveField(event);
    if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey) || event.repeat) return;
    event.preventDefault();
    submit?.();
  };
  return (
    <div class="edit" id="edit" onKeyDown={onKeyDown}>
      <div class="edit-head" role="group" aria-label="Edit as">
        <Button look="tab" aria-pressed={!isRaw} onClick={() => setRaw(false)}>
          Form
        </Button>
        <Button look="tab" aria-pressed={isRaw} onClick={() => setRaw(true)}>
          JSON
        </Button>
        <DropButton {...props} />
      </div>
      {isRaw ? (
        <RawJson {...{ draft, setDraft, issues }} />
      ) : (
        <ArgumentsForm {...{ draft, setDraft, schema, issues }} />
      )}
    </div>
  );
}

/** Leaves the field. The first Escape keeps the text in the field. Only the next Escape leaves the request. */
function leaveField(event: KeyboardEvent) {
  const { target } = event;
  if (!(target instanceof HTMLElement) || !target.matches('input, textarea, select')) return;
  event.preventDefault();
  target.blur();
}

/** Drops what was typed, but only when the person confirms it. */
function DropButton({ isChanged, close }: EditProps) {
  const drop = () => {
    close();
    focusSoon('#change');
  };
  const { isAsked, click, forget } = useSure(drop);
  // One button offers and keeps, so that the focus of the keyboard stays.
  return (
    <span class="sure">
      {isAsked && (
        <>
          <span role="alert">Drop what you typed?</span>
          <Button look="danger" onClick={click}>
            Drop it
          </Button>
        </>
      )}
      <Button
        id="change"
        look="plain"

        onClick={isAsked ? forget : isChanged ? click : drop}
      >
        {isAsked ? 'Keep it' : 'Drop the changes'}
      </Button>
    </span>
  );
}

/** Moves the focus to an element that is drawn next. */
export function focusSoon(selector: string): void {
  requestAnimationFrame(() => document.querySelector<HTMLElement>(selector)?.focus());
}

function RawJson({ draft, setDraft, issues }: Pick<EditProps, 'draft' | 'setDraft' | 'issues'>) {
  const [text, setTyped] = useState(() => draft.texts['']?.text ?? JSON.stringify(draft.value, null, 2));
  return (
    <div class="field">
      <label for="raw">Arguments as JSON</label>
      <TextArea
        {...{ id: 'raw', text, spellcheck: false }}
        aria-invalid={issues.length > 0}
        aria-describedby="raw-issues"
        take={(typed) => {
          setTyped(typed);
          setDraft(setText(draft, [], typed));
        }}
      />
      <SeenEnd />
      <Issues of={issues} id="raw-issues" withPath />
    </div>
  );
}

interface ReasonProps {
  typed: Typed;
  change: (part: Partial<Typed>) => void;
  isOver: boolean;
  isEdited: boolean;
  deny: () => void;
}

/**
 * The field for the reason. Ctrl+Enter denies. If the arguments were edited, the person might want to approve them, so
 * Ctrl+Enter then only moves the focus to the Approve button.
 */
export function ReasonField({ typed, change, isOver, isEdited, deny }: ReasonProps) {
  const onKeyDown = (event: KeyboardEvent) => {
    const { currentTarget: field } = event;
    if (event.key === 'Escape' && field instanceof HTMLElement) field.blur();
    if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey) || event.repeat) return;
    if (isEdited) focusToDecide();
    else deny();
  };
  return (
    <>
      <label class="sr-only" for="reason">
        Reason
      </label>
      <textarea
        id="reason"
        dir="auto"
        rows={1}
        value={typed.reason}
        aria-invalid={isOver}
        aria-describedby="reason-note"
        placeholder={`Reason: the model reads it${isEdited || !hasKeyboard() ? '' : ' (Ctrl+Enter denies)'}`}
        onInput={({ currentTarget }) => change({ reason: currentTarget.value })}
        onKeyDown={onKeyDown}
      />
    </>
  );
}

interface LeftOverProps {
  typed: Typed;
  /** The event that happened meanwhile, in words. */
  what: string;
  drop: () => void;
}

/**
 * The text that a person had typed when the request changed, or when somebody else decided it. The text stays until the
 * person drops it.
 */
export function LeftOver({ typed, what, drop }: LeftOverProps) {
  const text = typedParts(typed);
  const { args, reason, suggestion, how, content } = typed;
  if (text === undefined) return null;
  const copy = (): void => void navigator.clipboard.writeText(text);
  return (
    <section class="banner ask left-over" aria-label="What you had typed">
      <p role="alert">
        <strong>
          <Text of={what} />
        </strong>{' '}
        This is what you had typed:
      </p>
      {[reason, suggestion, how, content]
        .filter((one) => one.trim() !== '')
        .map((one, index) => (
          <blockquote key={index}>
            <Text of={one} layout="block" />
          </blockquote>
        ))}
      {args && <Changes before={args.from} after={args.draft.value} />}
      {Object.entries(args?.draft.texts ?? {}).map(([path, half]) => (
        <p key={path}>
          <code>
            <Text of={`${path} ${half.text}`} layout="block" />
          </code>
        </p>
      ))}
      <div class="buttons">
        {window.isSecureContext && <Button onClick={copy}>Copy it</Button>}
        <Button onClick={drop}>Drop it</Button>
      </div>
    </section>
  );
}

/** The event that ended a request while a person was typing, in words. */
export function whatHappened(call: CallView): string {
  const last = lastWordOn(call);
  if (call.outcome === 'expired') return 'It expired.';
  if (last === undefined) return 'It does not wait any more.';
  return `It is over: ${wordsBy(wordIn(last) ?? 'decided', last.approver)} at ${dateTime(last.at)}.`;
}

/** False on a touch screen, where hints about keys would only take room. */
function hasKeyboard(): boolean {
  return !matchMedia('(pointer: coarse)').matches;
}
