import { useEffect, useState } from 'preact/hooks';
import type { Narrowing } from '../../authority/grants/narrowing';
import type { RequestOpened } from '../../history/events';
import type { GrantBody, GrantedAnswer, GrantPlanBody, GrantPreview, InboxItem } from '../../server/api';
import { type Reply, send, turnPath } from '../http';
import { errorText } from '../model/labels';
import { toDecision } from '../model/review';
import { useAppContext } from '../ui/app';
import { Code, Text } from '../ui/text';
import { FormDialog, Select, Opener } from '../ui/widgets';
import type { Review } from './call/decide';
import { type DecidingProps, type Signed, useSend } from './call/send';

const MINUTE = 60_000;
/** The choices for how long or how often a grant counts, the narrowest first. */
const SPANS: readonly (readonly [string, Pick<GrantPlanBody, 'times' | 'forMs'>])[] = [
  ['3 times, within a day', { times: 3 }],
  ['for 30 minutes', { forMs: 30 * MINUTE }],
  ['10 times, within a day', { times: 10 }],
  ['for 8 hours', { forMs: 480 * MINUTE }],
];

interface GrantProps extends DecidingProps {
  request: RequestOpened;
  review: Review;
}

/** A form that approves a call and also allows similar calls in advance. */
export function GrantOffer(props: GrantProps) {
  return (
    <p class="grant-offer">
      <Opener label="Approve and allow more …" dialog={(close) => <GrantDialog {...props} close={close} />} />
    </p>
  );
}

function GrantDialog({ close, ...props }: GrantProps & { close: () => void }) {
  const { details, request, review } = props;
  const { turn } = details.view;
  const [span, setSpan] = useState(0);
  const [chosen, choose] = useState<Readonly<Record<string, number>>>({});
  const [ways, setWays] = useState<GrantPreview['ways']>([]);
  const { preview, problem } = usePreview(turn, {
    callId: request.callId,
    seenDigest: request.seenDigest,
    ...SPANS[span]?.[1],
    narrowing: narrowingOf(ways, chosen),
  });
  useEffect(() => preview && setWays(preview.ways), [preview]);
  const { isSending, give } = useGive(props);
  const why = whyNot(review);
  const canGive = preview !== undefined && why === undefined && !isSending;
  return (
    <FormDialog
      name="grant"
      title="Approve and allow more"
      label="Approve and allow"
      isAllowed={canGive}
      act={() => {
        close();
        if (preview) give(preview.terms);
      }}
      close={close}
    >
      <label>
        Allow such calls{' '}
        <Select
          id="grant-span"
          label="How long or how often"
          value={String(span)}
          options={SPANS.map(([text], at) => [String(at), text])}
          choose={(value) => setSpan(Number(value))}
        />
      </label>
      <Ways {...{ ways, chosen, choose }} />
      <Says {...{ preview, problem, why }} />
    </FormDialog>
  );
}

interface WaysProps {
  ways: GrantPreview['ways'];
  chosen: Readonly<Record<string, number>>;
  choose: (chosen: Readonly<Record<string, number>>) => void;
}

function Ways({ ways, chosen, choose }: WaysProps) {
  return (
    <>
      {ways.map(({ name, ways: some }) => (
        <label key={name}>
          with <Code of={name} />{' '}
          <Select
            id={`grant-${name}`}
            label={`Argument ${name}`}
            value={String(chosen[name] ?? 0)}
            options={some.map(({ text }, at) => [String(at), text])}
            choose={(value) => choose({ ...chosen, [name]: Number(value) })}
          />
        </label>
      ))}
    </>
  );
}

interface SaysProps {
  preview: GrantPreview | undefined;
  problem: string | undefined;
  why: string | undefined;
}

/** Says what the grant allows, or why it cannot be given. */
function Says({ preview, problem, why }: SaysProps) {
  return (
    <div class="grant-says" role="status">
      {problem !== undefined && <p class="problem">{problem}</p>}
      {problem === undefined && preview === undefined && <p>Looking at past calls …</p>}
      {preview && (
        <>
          <p>
            <strong>
              <Text of={preview.sentence} />
            </strong>
          </p>
          {preview.held !== undefined && (
            <p>
              <Text of={preview.held} />
            </p>
          )}
          <p class="quiet">{preview.coverage}</p>
        </>
      )}
      {why !== undefined && <p class="quiet">{why}</p>}
    </div>
  );
}

/**
 * Why the grant cannot be given: a reason that also prevents an approval, or a change that the person made to the call.
 */
function whyNot({ why, edit, hunks }: Review): string | undefined {
  const isWhole = !edit.isEdited && hunks.ticked.length === hunks.all.length;
  return isWhole ? why?.text : 'A grant goes with a call as it is: take your changes back.';
}

/** For each argument, the chosen condition in place of "equal". */
function narrowingOf(ways: GrantPreview['ways'], chosen: Readonly<Record<string, number>>): Narrowing {
  const wider = ways.flatMap(({ name, ways: some }) => {
    const at = chosen[name] ?? 0;
    const way = some[at];
    return at === 0 || way === undefined ? [] : [[name, way.condition] as const];
  });
  return Object.fromEntries(wider);
}

/**
 * Reads which calls the grant would allow. The page asks the server again after each choice, and only the last answer
 * counts.
 */
function usePreview(turn: string, body: GrantPlanBody): { preview?: GrantPreview; problem?: string } {
  const [state, setState] = useState<{ preview?: GrantPreview; problem?: string }>({});
  const key = JSON.stringify(body);
  useEffect(() => {
    let isOld = false;
    setState({});
    void send<GrantPreview>('POST', `${turnPath(turn)}/grant-plans`, { body }).then((reply) => {
      if (isOld) return;
      setState(reply.ok ? { preview: reply.data } : { problem: errorText(reply.error) });
    });
    return () => {
      isOld = true;
    };
  }, [turn, key]);
  return state;
}

function useGive(props: GrantProps) {
  const { notify, select } = useAppContext();
  /** A grant lets through what asks from now on, so what waits and fits it is offered to be decided together. */
  const offerFits = async (id: string) => {
    const reply = await send<InboxItem[]>('GET', `api/grants/${id}/fits`);
    if (!reply.ok || reply.data.length === 0) return;
    select((last) => ({ ...last, items: reply.data }));
    const fit =
      reply.data.length === 1 ? 'One that waits now fits' : `${reply.data.length} that wait now fit`;
    const to = { label: 'Look at them', route: { at: 'inbox' } } as const;
    notify({
      text: `${fit} the grant, and nothing lets them through by itself.`,
      tone: 'quiet',
      to,
      stays: true,
    });
  };
  const { request, review } = props;
  const post = async (
    turn: string,
    { terms, grantPasskey, ...decision }: GrantBody['decision'] & Pick<GrantBody, 'terms'> & Signed,
    signal: AbortSignal,
  ): Promise<Reply<GrantedAnswer & { done?: string }>> => {
    const reply = await send<GrantedAnswer>('POST', `${turnPath(turn)}/grants`, {
      body: { decision, terms, grantPasskey },
      signal,
    });
    if (!reply.ok) return reply;
    const { grant, grantProblem: problem } = reply.data;
    if (grant?.authority)
      notify({ text: 'The grant allows nothing until others confirm it: see Grants.', tone: 'good' });
    else if (grant) void offerFits(grant.id);
    if (problem === undefined) return reply;
    notify({ text: `Nothing more is allowed: ${errorText(problem)}`, tone: 'bad', stays: true });
    return { ok: true, data: { ...reply.data, done: `Approved this call of ${request.tool} alone` } };
  };
  const { isSending, send: hold } = useSend(props, post);
  const give = (terms: GrantBody['terms']) => {
    const decision = toDecision(request, 'approve', review.choice);
    const what = `Approved, and allowed more calls of ${request.tool}`;
    hold({ ...decision, terms }, what);
  };
  return { isSending, give };
}
