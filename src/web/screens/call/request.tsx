import { useEffect, useState } from 'preact/hooks';
import type { RequestOpened } from '../../../history/events';
import type { CallDetails } from '../../../server/api';
import { send, turnPath } from '../../http';
import { WatchSeen } from '../../ui/seen';
import { Text } from '../../ui/text';
import { DecisionBar, type Review, useReview } from './decide';
import type { DecidingProps } from './send';
import { CallHead, Fact, ModelSays, Refusal, UserAsked } from './head';
import { span } from '../../../contract/text/times';
import { whoDecides } from '../../model/labels';
import { changedText, describeEffect } from '../../../history/labels';
import { Button, Deadline, Key } from '../../ui/widgets';
import { useAppContext, useLate, useTabVisible } from '../../ui/app';
import { SAW_DIGITS } from '../../../contract/digest';
import { deceivingText } from '../../model/review';
import { ArgumentsView, Changes } from './content';
import { PreviewView } from './diff';
import { EditArguments, LeftOver } from './edit';
import { NOTHING_TYPED } from '../../kept-input';
import type { Safety } from '../../../contract/tool';

const loadGrant = () => import('../grant');
const loadVotes = () => import('./votes');

/** Warns of a changed tool before an approval that would be refused. */
function ChangedTool({ now }: { now: CallDetails['changed'] }) {
  if (now === undefined) return null;
  return (
    <p class="banner bad" role="note">
      <strong>Its tool {changedText(now)}.</strong> Approved, the call would be refused and nothing would run.
      Deny it, so that the model can ask again.
    </p>
  );
}

/** Says that a pause holds the call. */
function Paused({ agent, tool }: { agent: string; tool: string }) {
  const { paused = [] } = useAppContext().inbox.pulse ?? {};
  const isHeld = paused.some(
    ({ of }) => [agent, undefined].includes(of?.agent) && [tool, undefined].includes(of?.tool),
  );
  if (!isHeld) return null;
  return (
    <p class="banner ask" role="note">
      <strong>Paused.</strong> Approving starts nothing now: the call starts when the pause ends.
    </p>
  );
}

/**
 * A request in full, with everything that is needed to decide it. What the model says comes last, because a person
 * judges what will run and not its description.
 */
export function RequestPanel(props: DecidingProps & { request: RequestOpened }) {
  const { details, call, request, refusal, typed } = props;
  const { offers } = details;
  const review = useReview(request, details, props);
  const late = useLate(loadGrant, offers.includes('grant'));
  const votes = useLate(loadVotes, offers.includes('withdraw') || offers.includes('ask-again'));
  const isStale = typed.args !== undefined && typed.args.seen !== request.seenDigest;
  return (
    <article class="call" aria-label={`Request ${call.callId}`}>
      <CallHead
        {...{ view: details.view, call }}
        wants={<Wants {...{ request, details }} />}
        facts={<Facts {...{ request, details }} />}
      >
        <Refusal text={refusal} />
        <ChangedTool now={details.changed} />
        <Paused agent={details.view.agent} tool={call.tool} />
        {isStale && (
          <LeftOver
            typed={{ ...NOTHING_TYPED, args: typed.args }}
            what="It changed after you typed this."
            drop={() => props.change({ args: undefined })}
          />
        )}
        <Notes request={request} />
      </CallHead>
      <WatchSeen report={review.setUnseen} name={`${details.view.turn}/${call.callId}`}>
        <Proposal {...{ details, request, review }} />
      </WatchSeen>
      <UserAsked view={details.view} />
      <ModelSays view={details.view} call={call} />
      {details.ownVote !== undefined && <Voted left={details.votersLeft} />}
      {votes && <votes.VoteActions {...props} />}
      {late && <late.GrantOffer {...props} review={review} />}
      {offers.includes('deny') && <DecisionBar {...props} review={review} />}
    </article>
  );
}

/** What a person who voted waits for. The vote can be taken back, and nothing else. */
function Voted({ left = [] }: { left: readonly string[] | undefined }) {
  return (
    <p class="banner" role="status">
      <strong>You voted.</strong>{' '}
      {left.length === 0 ? 'Nobody else may vote.' : <Text of={`Waits for ${left.join(' or ')}.`} />}
    </p>
  );
}

/** After how many milliseconds the page says again that a request is open in it. */
const STILL_MS = 10_000;

/** The others who have the request open now. */
function useLookers({ view, callId }: CallDetails): readonly string[] {
  const isLive = useAppContext().inbox.connection === 'live';
  const isVisible = useTabVisible();
  const [others, setOthers] = useState<readonly string[]>([]);
  useEffect(() => {
    if (!isLive || !isVisible) return;
    const path = `${turnPath(view.turn)}/calls/${callId}/open`;
    const look = async () => {
      const reply = await send<string[]>('POST', path);
      setOthers(reply.ok ? reply.data : []);
    };
    void look();
    const timer = setInterval(() => void look(), STILL_MS);
    return () => clearInterval(timer);
  }, [isLive, isVisible]);
  return others;
}

/** How long there is, who decides, and who else looks at it. */
function Wants({ request, details }: Pick<ProposalProps, 'request' | 'details'>) {
  const { session } = useAppContext();
  const others = useLookers(details);
  return (
    <>
      <Deadline of={request.deadline} />
      <span>
        <Text of={whoDecides(details, session)} />
      </span>
      {others.length > 0 && (
        <span>
          <Text of={`${others.join(' and ')} ${others.length === 1 ? 'has' : 'have'} it open, too`} />
        </span>
      )}
    </>
  );
}

/** What people have to know before they decide, and that the arguments do not show. */
function Notes({ request }: Pick<ProposalProps, 'request'>) {
  const { policyReason, note, notes, server } = request;
  const facts = [
    ['Asked again', note],
    ['Policy', policyReason],
    ['Notes', notes?.join('; ')],
    ['Server', server],
  ] as const;
  if (facts.every(([, text]) => text === undefined)) return null;
  return (
    <dl class="facts in-line">
      {facts.map(
        ([name, text]) =>
          text !== undefined && (
            <Fact key={name} name={name} isWide>
              <Text of={text} kind={name === 'Policy' ? 'prose' : undefined} />
            </Fact>
          ),
      )}
    </dl>
  );
}

/** Facts for whoever asks for them. None of them comes from the model. */
function Facts({ request, details }: Pick<ProposalProps, 'request' | 'details'>) {
  const { safety, effect, seenDigest } = request;
  const { timeoutMs, voting } = details;
  return (
    <>
      {safety !== 'dangerous' && (
        <Fact name="Safety">
          {safety} <span class="quiet">{SAFETY_LABELS[safety]}, unless a policy asks</span>
        </Fact>
      )}
      <Fact name="Effect">
        {effect} <span class="quiet">{describeEffect(request)}</span>
      </Fact>
      {timeoutMs !== undefined && <Fact name="Timeout">{span(timeoutMs)}</Fact>}
      {voting !== undefined && (
        <Fact name="Decided by" isWide>
          <Text of={voting} />
        </Fact>
      )}
      <Fact name="Seen">
        <code title="The beginning of the SHA-256 of all that is shown, which your decision names">
          {seenDigest.slice(0, SAW_DIGITS)}
        </code>
      </Fact>
    </>
  );
}

interface ProposalProps {
  details: CallDetails;
  request: RequestOpened;
  review: Review;
}

function OutOfDate() {
  return (
    <p class="banner ask">
      This preview is out of date. Ask for the new one: it shows what will run, and nothing runs before you
      approve that.
    </p>
  );
}

/** What will run: the changes of a person, then the preview and the arguments. */
function Proposal({ details, request, review }: ProposalProps) {
  const { edit, hunks } = review;
  const { preview, proposed, edit: edited } = request;
  return (
    <>
      <Deceiving review={review} />
      {edited && proposed !== undefined && (
        <section aria-labelledby="proposed-title">
          <h2 id="proposed-title">Against what the model asked for</h2>
          <p class="quiet">
            Changed by <Text of={edited.approver} />
            {edited.reason !== undefined && ': '}
            {edited.reason !== undefined && <Text of={edited.reason} kind="prose" />}
          </p>
          <Changes before={proposed} after={request.arguments} />
        </section>
      )}
      {preview && (
        <section aria-labelledby="what-title" class={edit.isEdited ? 'outdated' : undefined}>
          <h2 id="what-title">
            {edit.isEdited ? 'What it does without your changes' : 'What it does'}
            {edited && !edit.isEdited && (
              <span class="quiet">
                {' '}
                with the changes of <Text of={edited.approver} />
              </span>
            )}
          </h2>
          {edit.isEdited && <OutOfDate />}
          <PreviewView
            preview={preview}
            ticked={hunks.ticked}
            choice={edit.isEdited || !details.offers.includes('hunks') ? undefined : hunks}
          />
        </section>
      )}
      <Arguments {...{ details, request, review }} />
      {edit.edited && (
        <section aria-labelledby="changes-title">
          <h2 id="changes-title">Your changes</h2>
          <Changes before={request.arguments} after={edit.edited} />
        </section>
      )}
    </>
  );
}

function Arguments({ details, request, review }: ProposalProps) {
  const { edit, why, canShow, showNext } = review;
  const { draft, issues } = edit;
  const submit = () => {
    if (why === undefined) document.getElementById('approve')?.click();
    else if (canShow) showNext();
  };
  return (
    <section aria-labelledby="arguments-title">
      <div class="section-head">
        <h2 id="arguments-title">Arguments</h2>
        {draft === undefined && details.offers.includes('edit') && (
          <Button id="change" aria-keyshortcuts="e" onClick={edit.start}>
            Change <Key of="e" />
          </Button>
        )}
      </div>
      {draft === undefined ? (
        <ArgumentsView
          of={request.arguments}
          plan={request.preview?.plan}
          mayFold={request.edit !== undefined}
        />
      ) : (
        <EditArguments
          {...{ draft, issues, isChanged: edit.isChanged, submit }}
          schema={details.schema}
          setDraft={edit.set}
          close={edit.drop}
        />
      )}
    </section>
  );
}

function Deceiving({ review: { deceiving, isConfirmed, confirm } }: { review: Review }) {
  const text = deceivingText(deceiving);
  if (text === '') return null;
  return (
    <div class="banner ask" role="note">
      <p>
        <strong>Look twice.</strong> This request holds {text}. Each is shown as a{' '}
        <span class="mark">mark</span>.
      </p>
      <label>
        <input
          type="checkbox"
          checked={isConfirmed}
          onChange={({ currentTarget }) => confirm(currentTarget.checked)}
        />
        I looked at the marked characters
      </label>
    </div>
  );
}

const SAFETY_LABELS: Readonly<Record<Safety, string>> = {
  safe: 'runs without a decision',
  cautious: 'is logged, then runs',
  dangerous: 'waits for a decision',
};
