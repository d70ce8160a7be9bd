import { dateTime, relative } from '../../contract/text/times';
import type { GrantRow } from '../../server/api';
import { send } from '../http';
import { useAppContext, useNow, usePolled } from '../ui/app';
import { isFocusLost } from './call/head';
import { Revoke } from './chips';
import { sendSigned } from './call/send';
import { SureButton } from '../ui/widgets';
import { ListScreen } from '../ui/list';
import { Code, Reason, Text } from '../ui/text';
import type { VoteSignature } from '../../contract/decision';

/** The calls that may run without asking, with buttons that revoke these grants. */
export function GrantsScreen() {
  const { data: rows, look } = usePolled<GrantRow[]>('api/grants');
  return (
    <ListScreen
      name="grants"
      title="Grants"
      rows={rows}
      draw={(one) => <Row key={one.id} {...one} look={look} />}
      none="There are none."
    >
      <p class="quiet">What may run without asking. A request gives one: “Approve and allow more”.</p>
    </ListScreen>
  );
}

function Row({ look, ...grant }: GrantRow & { look: () => Promise<void> }) {
  const { id, sentence, arguments: args, by, at, until, times, used, reason, signature } = grant;
  const { confirmed = [], held, toConfirm } = grant;
  const { session } = useAppContext();
  const now = useNow();
  const lookAgain = async () => {
    await look();
    // The button is gone. A person who went on meanwhile keeps the focus.
    if (isFocusLost()) document.getElementById('grants-title')?.focus();
  };
  return (
    <li>
      <p>
        <Text of={sentence} />
      </p>
      <p class="row-foot">
        <Code of={args} />
      </p>
      <p class="row-foot">
        {times - used} of {times} uses left · ends {relative(until, now)} · given by <Text of={by} />,{' '}
        {proofText(signature)}, {dateTime(at)}
        <Reason of={reason} />
      </p>
      {confirmed.map((vote) => (
        <p class="row-foot" key={vote.voter}>
          confirmed by <Text of={vote.voter} />, {proofText(vote.signature)}, {dateTime(vote.at)}
        </p>
      ))}
      {held !== undefined && (
        <p>
          <strong>
            <Text of={held} />
          </strong>
        </p>
      )}
      {session.role !== 'viewer' && toConfirm !== undefined && (
        <Confirm id={id} seenDigest={toConfirm} sentence={sentence} look={lookAgain} />
      )}
      {session.role !== 'viewer' && <Revoke id={id} then={lookAgain} what={`${grant.tool} by ${by}`} />}
    </li>
  );
}

interface ConfirmProps {
  id: string;
  seenDigest: string;
  sentence: string;
  look: () => Promise<void>;
}

/** A button that confirms a grant. The first click repeats what the second click allows. */
function Confirm({ id, seenDigest, sentence, look }: ConfirmProps) {
  const { notify, fail } = useAppContext();
  const confirm = async () => {
    const reply = await sendSigned('Confirm the grant', ({ grantPasskey }) =>
      send('POST', `api/grants/${id}/confirmation`, { body: { seenDigest, grantPasskey } }),
    );
    if (!reply.ok) fail(reply);
    else notify({ text: 'Confirmed.', tone: 'good' });
    await look();
  };
  return (
    <SureButton
      label="Confirm"
      of={id.slice(0, 8)}
      says={`You confirm: ${sentence}`}
      act={() => void confirm()}
    />
  );
}

/** How a grant was signed. The worker checks whether the signature counts. */
function proofText(signature: VoteSignature | undefined): string {
  return signature === undefined ? 'claimed' : signature.kind === 'inbox' ? 'signed in' : 'signed';
}
