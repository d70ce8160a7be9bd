import type { TurnOrigin } from '../../../contract/call';
import { describeFacts, describePhase } from '../../../history/labels';
import { describeModel } from '../../../history/model-label';
import { type ComponentChildren, createContext } from 'preact';
import { useContext, useEffect, useRef, useState } from 'preact/hooks';
import type { CallView, TurnView } from '../../../history/view-types';
import { Button, Chip, TurnLink } from '../../ui/widgets';
import { Code, Files, Text } from '../../ui/text';
import { goTo } from '../../ui/app';

interface HeadProps {
  view: TurnView;
  call: CallView;
  /** How long there is, and who decides. Absent: the call does not wait for a decision. */
  wants?: ComponentChildren;
  /** Facts for whoever asks for them. */
  facts?: ComponentChildren;
  children: ComponentChildren;
}

/** A screen that has the panel of a call inside it. */
interface Around {
  /** Called with the heading of a panel once it is there. The screen decides whether and where to scroll. */
  opened(title: HTMLElement): void;
}

/** Undefined if no other screen contains the panel, as in the inbox. */
export const AroundPanel = createContext<Around | undefined>(undefined);

/** The element for a panel's heading: the first heading of the page, unless the panel is inside another screen. */
export function usePanelTitle(): 'h1' | 'h2' {
  return useContext(AroundPanel) === undefined ? 'h1' : 'h2';
}

/** The heading of a call, with links back and to its turn. Its ids come last. */
export function CallHead({ view, call, wants, facts, children }: HeadProps) {
  const [isOpen, setOpen] = useState(false);
  const title = useRef<HTMLHeadingElement>(null);
  const around = useContext(AroundPanel);
  const Title = usePanelTitle();
  useEffect(() => {
    if (title.current === null) return;
    if (around) around.opened(title.current);
    else if (isFocusLost()) title.current.focus();
  }, []);
  return (
    <header class="call-head">
      <div class="title-line">
        {around === undefined && (
          <Button
            look="plain back"

            aria-label="Back to the inbox"
            onClick={() => goTo({ at: 'inbox' })}
          >
            ←
          </Button>
        )}
        <Title class="call-title" tabIndex={-1} ref={title}>
          <Code of={call.tool} />
          {wants === undefined && <Chip of={describePhase(call)} />}
        </Title>
        {facts !== undefined && (
          <Button look="plain" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
            Details
          </Button>
        )}
      </div>
      <p class="crumbs">
        <span>
          <Text of={view.agent} />
          {wants !== undefined && ' wants it'}
        </span>
        {wants}
        {facts === undefined && <Ids view={view} call={call} />}
      </p>
      {isOpen && (
        <dl class="facts in-line">
          {facts}
          <Fact name="Turn">
            <Ids view={view} call={call} />
          </Fact>
        </dl>
      )}
      {children}
    </header>
  );
}

/** The ids of a turn and of its call. They come last, because they say nothing about what happens. */
function Ids({ view, call }: Pick<HeadProps, 'view' | 'call'>) {
  return (
    <>
      <TurnLink of={view.turn} /> <span>call {call.callId}</span>
    </>
  );
}

/**
 * Whether the focused element is gone or hidden, for example the link that opened this panel. Without a new focus, the
 * keyboard would start at the top of the page.
 */
export function isFocusLost(): boolean {
  const { activeElement } = document;
  return (
    activeElement === null || activeElement === document.body || activeElement.getClientRects().length === 0
  );
}

interface FactProps {
  name: string;
  isWide?: boolean;
  children: ComponentChildren;
}

/** One fact of a `facts` list. */
export function Fact({ name, isWide = false, children }: FactProps) {
  return (
    <div class={isWide ? 'wide' : undefined}>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

/** The prompt of the turn. A workflow that is not a turn may have none. */
export function UserAsked({ view }: { view: TurnView }) {
  if (view.prompt === '' && view.files === undefined) return null;
  return (
    <figure class="said-by">
      <figcaption>The user asked</figcaption>
      <blockquote>
        <Text of={view.prompt} layout="block" kind="prose" />
      </blockquote>
      <Files of={view.files} />
      {view.origin && <OriginLine of={view.origin} />}
    </figure>
  );
}

/** Who asked, and the metadata with which the turn was started. Nobody has checked these values. */
function OriginLine({ of: { requester, metadata = {} } }: { of: TurnOrigin }) {
  const facts = describeFacts(metadata);
  return (
    <p class="quiet">
      Asked by <Text of={requester ?? 'somebody'} />
      {facts !== '' && (
        <>
          , with <Text of={facts} />
        </>
      )}{' '}
      (as claimed)
    </p>
  );
}

/** What the model said in the step of the call. The model's words do not prove what the call does. */
export function ModelSays({ view, call }: { view: TurnView; call: CallView }) {
  const step = view.steps.find(({ step: n }) => n === call.step);
  if (step === undefined) return null;
  const others = step.callIds.length - 1;
  return (
    <figure class="said-by model">
      <figcaption>
        The model says
        {others > 0 && `, asking for ${others} more ${others === 1 ? 'call' : 'calls'} in the same step`}
      </figcaption>
      <blockquote>
        {step.text.trim() === '' ? (
          <span class="quiet">(nothing)</span>
        ) : (
          <Text of={step.text.trim()} layout="block" kind="prose" />
        )}
      </blockquote>
      <p class="quiet">
        Written by <Text of={describeModel(step)} />
      </p>
    </figure>
  );
}

/** Why the last decision was refused. Screen readers read it immediately. */
export function Refusal({ text }: { text: string | undefined }) {
  return (
    <div role="alert">
      {text !== undefined && (
        <p class="banner bad">
          <strong>Not taken.</strong> <Text of={text} />
        </p>
      )}
    </div>
  );
}

/** The id and the tool of a call. */
export function CallName({ callId, tool }: Pick<CallView, 'callId' | 'tool'>) {
  return (
    <>
      {callId} <Code of={tool} />
    </>
  );
}
