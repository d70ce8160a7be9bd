import { z } from 'zod';
import type { Approvers } from '../authority/rules/approvers-file';
import type { Answer, Countersign } from '../client';
import { isAtLeast } from '../authority/rules/permits';
import { digestJson } from '../contract/digest';
import { CountersignError, errorMessage } from '../contract/errors';
import { parseJson } from '../contract/json';
import { waitingEvent } from '../history/view-types';
import { type InboxSigner, signVote } from '../server/signer';
import type { Kept } from './sent';
import type { SlackApi } from './slack-api';
import type { Post } from './slack-posts';
import { APPROVE, DENY, INSTEAD, REASON, REASON_CHARACTERS, reasonView, whisperOf } from './slack-text';
import { sees } from './voters';

/** The parts that handling a click needs. */
interface ClickParts {
  api: Pick<SlackApi, 'identify' | 'whisper' | 'openView'>;
  posts: Pick<Kept<Post>, 'get'>;
  approvers(): Promise<Approvers>;
  client: Pick<Countersign, 'view' | 'decide' | 'placeOf'>;
  /** Absent: the name of the person who clicked is only claimed. */
  signer: InboxSigner | undefined;
  /** Brings the messages about a call up to date. */
  refresh(call: { turn: string; callId: string }): Promise<void>;
  note(line: string): void;
}

const id = z.string().min(1).max(100);
const who = {
  team: z.object({ id }),
  user: z.object({ id, team_id: id.optional() }),
  api_app_id: id,
};

const pressSchema = z.object({
  type: z.literal('block_actions'),
  ...who,
  trigger_id: z.string(),
  container: z.object({ channel_id: id, message_ts: id }),
  actions: z
    .array(z.object({ action_id: z.string(), action_ts: id, value: z.string().optional() }))
    .length(1),
});

const reasonSchema = z.object({
  type: z.literal('view_submission'),
  ...who,
  view: z.object({
    id,
    callback_id: z.literal(REASON),
    private_metadata: z.string(),
    state: z.object({
      values: z.object({
        [REASON]: z.object({ [REASON]: z.object({ value: z.string().max(REASON_CHARACTERS) }) }),
        [INSTEAD]: z
          .object({ [INSTEAD]: z.object({ value: z.string().max(REASON_CHARACTERS).nullish() }) })
          .optional(),
      }),
    }),
  }),
});

const valueSchema = z.strictObject({ callId: z.string(), digest: z.string(), key: z.string() });

/** The action of a person, as Slack reports it. */
interface Click {
  /** `ask`: the person wants to deny. The reason comes next. */
  does: 'approve' | 'ask' | 'deny';
  /** The id of the click. It stays the same if Slack sends the click again. */
  id: string;
  user: string;
  userTeam: string;
  team: string;
  app: string;
  /** The key of the post that was clicked. */
  key: string;
  /**
   * The place of the button, and the request that the button names. Absent: the action came from the window that asks
   * for a reason.
   */
  button?: { channel: string; ts: string; callId: string; digest: string };
  reason?: string;
  suggestion?: string;
  trigger: string;
}

/** Reads a payload. Undefined for a payload that decides nothing, such as a click on a link. */
export function readClick(body: unknown): Click | undefined {
  const reason = reasonSchema.safeParse(body);
  if (reason.success) {
    const { team, user, api_app_id: app, view } = reason.data;
    const { [REASON]: why, [INSTEAD]: instead } = view.state.values;
    const suggestion = instead?.[INSTEAD].value ?? undefined;
    const said = { reason: why[REASON].value, suggestion, key: view.private_metadata, trigger: '' };
    return { does: 'deny', id: digestJson([team.id, view.id, user.id]), ...from(team, user), app, ...said };
  }
  const press = pressSchema.safeParse(body);
  const [action] = press.data?.actions ?? [];
  if (!press.success || action === undefined || ![APPROVE, DENY].includes(action.action_id)) return undefined;
  const { team, user, api_app_id: app, trigger_id: trigger, container } = press.data;
  const value = valueSchema.safeParse(parseJson(action.value ?? ''));
  if (!value.success) return undefined;
  const { key, ...what } = value.data;
  const { channel_id: channel, message_ts: ts } = container;
  const does = action.action_id === APPROVE ? 'approve' : 'ask';
  const parts = [team.id, channel, ts, user.id, does, action.action_ts];
  return {
    does,
    id: digestJson(parts),
    ...from(team, user),
    app,
    key,
    trigger,
    button: { channel, ts, ...what },
  };
}

function from(
  team: { id: string },
  user: { id: string; team_id?: string },
): Pick<Click, 'team' | 'user' | 'userTeam'> {
  return { team: team.id, user: user.id, userTeam: user.team_id ?? team.id };
}

/**
 * Why a click is refused: it does not belong to a message that we posted. Undefined: the click belongs to such a
 * message.
 */
export function whyForeign(click: Click, team: string, post: Post | undefined): string | undefined {
  if (click.team !== team || click.userTeam !== team) return 'it comes from another workspace';
  if (post?.place === undefined) return 'no message is known that it could be on';
  if (click.app !== post.place.app) return 'it comes from another app';
  const { button } = click;
  if (button === undefined) return undefined;
  const { channel, ts } = post.place;
  if (button.channel !== channel || button.ts !== ts) return 'it was on another message';
  const isSame = button.callId === post.notice.data.callId && button.digest === (post.seen?.digest ?? '');
  return isSame ? undefined : 'its button is about another request than the message';
}

/** The most clicks that are remembered. Slack does not repeat older clicks. */
const MOST_KNOWN = 1000;

/** Makes the function that takes payloads. A repeated payload is ignored. The function never rejects. */
export function createClicks(parts: ClickParts): (body: unknown) => Promise<void> {
  const known = new Set<string>();
  return async (body) => {
    const click = readClick(body);
    if (click === undefined || known.has(click.id)) return;
    known.add(click.id);
    for (const oldest of known) if (known.size > MOST_KNOWN) known.delete(oldest);
    try {
      await take(click, parts);
    } catch (error) {
      parts.note(`a click in Slack was not taken: ${errorMessage(error)}`);
    }
  };
}

async function take(click: Click, parts: ClickParts) {
  const { api, posts, note } = parts;
  const post = posts.get(click.key);
  const { team } = await api.identify();
  const foreign = whyForeign(click, team, post);
  if (foreign !== undefined || post?.place === undefined)
    return note(`a click in Slack by ${click.user} was refused: ${foreign ?? ''}`);
  const { channel } = post.place;
  const answer = await answerTo(click, post, parts).catch((error: unknown) => {
    if (error instanceof CountersignError && ['signature_needed', 'usage'].includes(error.code))
      return `Refused: ${error.message}`;
    note(`a click in Slack by ${click.user} may not have counted: ${errorMessage(error)}`);
    return `It is not known whether that counted: ${errorMessage(error)}. Look at it in the web inbox.`;
  });
  if (answer !== undefined) await api.whisper({ channel, user: click.user }, whisperOf(answer));
}

/** Does what the person clicked. Returns a text for the person. Undefined: the message itself will show the result. */
async function answerTo(click: Click, post: Post, parts: ClickParts): Promise<string | undefined> {
  const { api, approvers } = parts;
  if (post.over !== undefined) return `This is already decided: ${post.over}`;
  const file = await approvers();
  const person = file.personOfSlack(click.user);
  if (person === undefined)
    return `You are not in ${file.file}, so you decide nothing here. Your id at Slack is ${click.user}.`;
  const view = await parts.client.view(post.notice.data.turn);
  if (!isAtLeast(file.permitOf(person).role, 'approver') || !sees(file, person, view))
    return `Refused: ${file.file} does not let you decide this.`;
  if (click.does === 'ask') {
    await api.openView(click.trigger, reasonView(click.key, post.notice));
    return undefined;
  }
  const answer = await decide(click, post, { ...parts, person });
  void show(post, parts);
  return answer;
}

/** Updates the messages about the call now. If this fails, the next look at the inbox updates them. */
async function show({ notice: { data } }: Post, { refresh, note }: ClickParts) {
  try {
    await refresh(data);
  } catch (error) {
    note(`a message in Slack about ${data.turn}/${data.callId} was not changed: ${errorMessage(error)}`);
  }
}

async function decide(
  { id: decisionId, does, reason, suggestion }: Click,
  { notice, asked, seen }: Post,
  { client, signer, person: approver }: ClickParts & { person: string },
): Promise<string | undefined> {
  const { turn, callId } = notice.data;
  const decision = does === 'approve' ? 'approved' : 'denied';
  if (seen === undefined) return 'This can only be decided in the web inbox.';
  const { digest: seenDigest, callKey } = seen;
  const call = (await client.view(turn)).calls.find((one) => one.callId === callId);
  const now = call && waitingEvent(call)?.at;
  if (now !== undefined && now !== asked) return 'It is asked about again: look for the newer message.';
  const said = { turn, callId, decisionId, decision, approver, reason, suggestion, seenDigest } as const;
  const { signature } = await signVote({ client, signer }, said);
  const signed = signature ? { signature, authenticated: true as const } : {};
  const answer = await client.decide(turn, {
    callId,
    decision,
    approver,
    channel: 'slack',
    seenDigest,
    callKey,
    decisionId,
    reason,
    suggestion,
    runId: call?.runId,
    ...signed,
  });
  return wordsOf(answer);
}

function wordsOf(answer: Answer): string | undefined {
  if (answer.status === 'recorded')
    return 'It is recorded, and takes effect if a worker takes it up before the deadline. This message then says how it ended.';
  if (answer.status === 'accepted') return undefined;
  const { code, message } = answer.verdict;
  return code === 'already_decided' ? `This is already decided: ${message}` : `Refused: ${message}`;
}
