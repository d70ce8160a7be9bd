import type { JSX } from 'preact';
import type { RequestOpened } from '../../../history/events';
import type { CallDetails } from '../../../server/api';
import { deceivingWords } from '../../model/hidden';
import { ArgumentsView } from './arguments';
import { Changes } from './changes';
import { EditArguments } from './edit';
import { PreviewView } from './preview';
import type { Review } from './use-review';

/** As many as the command line shows. */
const DIGEST_CHARS = 8;

interface ProposalProps {
  details: CallDetails;
  request: RequestOpened;
  review: Review;
}

/** What will run: what it does, its arguments, and what a person changes of them. */
export function Proposal({ details, request, review }: ProposalProps): JSX.Element {
  const { edit, hunks } = review;
  const { preview, proposed } = request;
  return (
    <>
      <Deceiving review={review} />
      {preview !== undefined && (
        <section aria-labelledby="what-title">
          <h3 id="what-title">What it does</h3>
          <PreviewView
            preview={preview}
            ticked={hunks.ticked}
            {...(edit.isEdited ? {} : { toggle: hunks.toggle })}
          />
        </section>
      )}
      <Arguments {...{ details, request, review }} />
      {edit.isEdited && edit.draft !== undefined && (
        <section aria-labelledby="changes-title">
          <h3 id="changes-title">Your changes</h3>
          <Changes before={request.arguments} after={edit.draft.value} />
          {hunks.all.length > 0 && (
            <p class="banner">A changed proposal gets a new diff, which comes back for another look.</p>
          )}
        </section>
      )}
      {proposed !== undefined && (
        <section aria-labelledby="proposed-title">
          <h3 id="proposed-title">Against what the model asked for</h3>
          <Changes before={proposed} after={request.arguments} />
        </section>
      )}
    </>
  );
}

function Arguments({ details, request, review: { edit } }: ProposalProps): JSX.Element {
  const { draft, issues } = edit;
  return (
    <section aria-labelledby="arguments-title">
      <div class="section-head">
        <h3>
          <span id="arguments-title">Arguments</span>{' '}
          <code class="quiet" title="The beginning of their SHA-256, which your decision names">
            {request.argsDigest.slice(0, DIGEST_CHARS)}
          </code>
        </h3>
        {draft === undefined && (
          <button class="button" type="button" onClick={edit.start}>
            Change <kbd>e</kbd>
          </button>
        )}
      </div>
      <ArgumentsView of={request.arguments} />
      {draft !== undefined && (
        <EditArguments {...{ draft, issues }} schema={details.schema} setDraft={edit.set} close={edit.drop} />
      )}
    </section>
  );
}

function Deceiving({ review: { deceiving, isConfirmed, confirm } }: { review: Review }): JSX.Element | null {
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
          checked={isConfirmed}
          onChange={({ currentTarget }) => confirm(currentTarget.checked)}
        />
        I looked at the marked characters
      </label>
    </div>
  );
}
