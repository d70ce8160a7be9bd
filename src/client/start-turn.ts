import { setTimeout as delay } from 'node:timers/promises';
import {
  defineSearchAttributeKey,
  SearchAttributeType,
  WorkflowExecutionAlreadyStartedError,
  type SearchAttributePair,
} from '@temporalio/common';
import { CountersignError } from '../contract/errors';
import { originOf } from '../contract/fork';
import { MEMO, SEARCH_ATTRIBUTES, TASK_QUEUE, WORKFLOWS } from '../contract/names';
import { utf8Bytes } from '../contract/transcript';
import type { TurnInput } from '../contract/turn';
import { isNotReady, notReady, toCountersignError } from '../history/server-errors';
import type { Desk } from './desk';
import { checkTurnId, drawTurnId } from './turn-id';
import type { StartedTurn, StartRequest } from './types';

/** A prompt is one payload, and the transcript carries it through the whole turn. */
const PROMPT_BYTES = 1024 * 1024;
const AGENT_CHARS = 200;
/** What visibility keeps of the prompt. */
const MEMO_CHARS = 200;
const SUMMARY_CHARS = 100;
const NOT_READY_WAIT_MS = 500;
const START_MS = 10_000;

const KEYS = {
  state: defineSearchAttributeKey(SEARCH_ATTRIBUTES.state, SearchAttributeType.KEYWORD),
  pending: defineSearchAttributeKey(SEARCH_ATTRIBUTES.pending, SearchAttributeType.INT),
  agent: defineSearchAttributeKey(SEARCH_ATTRIBUTES.agent, SearchAttributeType.KEYWORD),
};

/** Starts a turn. Waits while the namespace does not know our search attributes yet: a worker registers them. */
export async function startTurn(desk: Desk, request: StartRequest): Promise<StartedTurn> {
  const turn = checkRequest(request);
  const { agent, prompt, taskQueue = TASK_QUEUE } = request;
  return startWorkflow(desk, { turn, taskQueue, prompt, input: { agent, prompt } });
}

/** A turn that is ready to start. */
export interface ReadyTurn {
  turn: string;
  taskQueue: string;
  /** What was asked, for lists. */
  prompt: string;
  input: TurnInput;
}

/** Starts a turn whose input is made. Errors: as `startTurn`. */
export async function startWorkflow(desk: Desk, ready: ReadyTurn): Promise<StartedTurn> {
  const { turn } = ready;
  const until = Date.now() + desk.readyMs;
  for (;;) {
    try {
      return { turn, runId: await startOnce(desk, ready) };
    } catch (error) {
      if (error instanceof WorkflowExecutionAlreadyStartedError) throw turnExists(turn);
      if (!isNotReady(error)) throw toCountersignError(error, `starting turn ${turn}`);
      if (Date.now() >= until) throw notReady(error);
    }
    await delay(NOT_READY_WAIT_MS);
  }
}

function checkRequest({ agent, prompt, id }: StartRequest): string {
  if (agent.trim() === '') throw new CountersignError('usage', 'a turn needs the name of an agent');
  if (agent.length > AGENT_CHARS)
    throw new CountersignError('usage', `no agent has a name of ${agent.length} characters`);
  if (prompt.trim() === '')
    throw new CountersignError('usage', 'a turn needs a prompt: what is the agent to do?');
  if (utf8Bytes(prompt) > PROMPT_BYTES) {
    const hint = 'put the text into a file that the agent can read';
    throw new CountersignError('usage', 'the prompt is over 1 MiB', { hint });
  }
  return id === undefined ? drawTurnId() : checkTurnId(id);
}

async function startOnce(desk: Desk, { turn, taskQueue, prompt, input }: ReadyTurn): Promise<string> {
  const { agent, fork } = input;
  const start = () =>
    desk.client.workflow.start(WORKFLOWS.turn, {
      args: [input],
      workflowId: turn,
      taskQueue,
      // A turn's id names its record: it is never used for a second one.
      workflowIdReusePolicy: 'REJECT_DUPLICATE',
      workflowIdConflictPolicy: 'FAIL',
      typedSearchAttributes: attributesOf(agent),
      memo: {
        [MEMO.prompt]: prompt.slice(0, MEMO_CHARS),
        ...(fork === undefined ? {} : { [MEMO.fork]: originOf(fork) }),
      },
      staticSummary: summaryOf(agent, prompt, fork?.of),
    });
  const handle = await desk.connection.withDeadline(Date.now() + START_MS, start);
  return handle.firstExecutionRunId;
}

function summaryOf(agent: string, prompt: string, forkOf: string | undefined): string {
  const who = forkOf === undefined ? agent : `${agent} (a fork of ${forkOf})`;
  return `${who}: ${prompt.slice(0, SUMMARY_CHARS).replace(/\s+/g, ' ')}`;
}

function attributesOf(agent: string): SearchAttributePair[] {
  return [
    { key: KEYS.state, value: 'running' },
    { key: KEYS.pending, value: 0 },
    { key: KEYS.agent, value: agent },
  ];
}

function turnExists(turn: string): CountersignError {
  const hint = 'take another id, or none; an id is never used twice';
  return new CountersignError('turn_exists', `there is or was a turn ${turn}`, { hint, data: { turn } });
}
