import type { JSX } from 'preact';
import type { RequestOpened } from '../../../history/events';
import type { CallDetails } from '../../../server/api';
import { deceivingWords } from '../../model/hidden';
import { ArgumentsView } from './arguments';
import { Changes } from './changes';
import { EditArguments } from './edit';
import { PreviewView } from './preview';
import type { RequestPanelState } from './request';

type ProposalProps = { details: CallDetails; request: RequestOpened } & Omit<
  RequestPanelState,
  'bar' | 'report'
>;

/** What will run: what it does, its arguments, and what a person changes of them. */
export function Proposal(props: ProposalProps): JSX.Element {
  const { details, request, draft, edit, startEdit, issues, isEdited, ticked, toggle } = props;
  const { preview } = request;
  const isPlan = preview?.plan !== undefined && preview.plan.hunks.length > 0;
  return (
    <>
      <Deceiving {...props} />
      {preview !== undefined && (
        <section aria-labelledby="what-title">
          <h3 id="what-title">What it does</h3>
          <PreviewView preview={preview} ticked={ticked} {...(isEdited ? {} : { toggle })} />
        </section>
      )}
      <section aria-labelledby="arguments-title">
        <div class="section-head">
          <h3 id="arguments-title">Arguments</h3>
          {draft === undefined && (
            <button class="button" type="button" onClick={startEdit}>
              Change <kbd>e</kbd>
            </button>
          )}
        </div>
        <ArgumentsView of={request.arguments} />
        {draft !== undefined && (
          <EditArguments
            {...{ draft, issues }}
            schema={details.schema}
            setDraft={edit}
            close={() => edit(undefined)}
          />
        )}
      </section>
      {isEdited && draft !== undefined && (
        <section aria-labelledby="changes-title">
          <h3 id="changes-title">Your changes</h3>
          <Changes before={request.arguments} after={draft.value} />
          {isPlan && (
            <p class="banner quiet">A changed proposal gets a new diff, which comes back for another look.</p>
          )}
        </section>
      )}
      {request.proposed !== undefined && (
        <section aria-labelledby="proposed-title">
          <h3 id="proposed-title">Against what the model asked for</h3>
          <Changes before={request.proposed} after={request.arguments} />
        </section>
      )}
    </>
  );
}

function Deceiving({ deceiving, confirmed, setConfirmed }: ProposalProps): JSX.Element | null {
  const words = deceivingWords(deceiving);
  if (words === '') return null;
  return (
    <div class="banner ask" role="note">
      <p>
        <strong>Look twice.</strong> This request holds {words}. They stand as <span class="mark">marks</span>
        .
      </p>
      <label>
        <input
          type="checkbox"
          checked={confirmed}
          onChange={({ currentTarget }) => setConfirmed(currentTarget.checked)}
        />
        I looked at the marked characters
      </label>
    </div>
  );
}
