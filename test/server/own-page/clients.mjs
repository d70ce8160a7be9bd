/** Drives the doors of a web inbox with the official clients, as the test beside it asks, and prints what they have then. */
import { HttpAgent } from '@ag-ui/client';
import { Chat } from '@ai-sdk/react';
import { DefaultChatTransport, lastAssistantMessageIsCompleteWithApprovalResponses } from 'ai';

const { url, token, agent: name, query, thread, prompts } = JSON.parse(process.argv[2]);
const headers = { authorization: `Bearer ${token}` };
console.warn = () => undefined;

const openAgent = (threadId) => new HttpAgent({ url: `${url}/ag-ui/${name}${query}`, headers, threadId });
const cancelled = ({ pendingInterrupts }) =>
  pendingInterrupts.map(({ id }) => ({ interruptId: id, status: 'cancelled' }));
const textsOf = ({ messages }) => messages.map(({ role, content }) => `${role}: ${content ?? ''}`);
const idsOf = ({ pendingInterrupts }) =>
  pendingInterrupts.map(({ id }) => id.split('.t1').at(-1).split('#')[0]);

const say = async (agent, content) => {
  agent.addMessage({ id: crypto.randomUUID(), role: 'user', content });
  await agent.runAgent({ resume: cancelled(agent) });
};

/** Decides the first open request, and leaves the others to somebody else. */
const decide = (agent, decision, subscriber) => {
  const [{ id, metadata }] = agent.pendingInterrupts;
  const { seenDigest } = metadata.countersign;
  const entry = { interruptId: id, status: 'resolved', payload: { seenDigest, ...decision } };
  return agent.runAgent({ resume: [entry, ...cancelled(agent).slice(1)] }, subscriber);
};

const decided = async (prompt, decision) => {
  const agent = openAgent(`${thread}-${prompt}`);
  await say(agent, prompts[prompt]);
  await decide(agent, decision);
  return textsOf(agent);
};

/** Two requests: one is decided in the inbox meanwhile. */
const twoRequests = async () => {
  const agent = openAgent(`${thread}-two`);
  await say(agent, prompts.two);
  const open = idsOf(agent);
  const refused = await agent.runAgent({ resume: cancelled(agent).slice(1) }).then(
    () => 'sent',
    (error) => error.message,
  );
  const elsewhere = agent.pendingInterrupts[1];
  const { seenDigest, callKey, callId } = elsewhere.metadata.countersign;
  const held = agent.runAgent({ resume: cancelled(agent) });
  const turn = elsewhere.id.slice(0, elsewhere.id.lastIndexOf('/'));
  const response = await fetch(`${url}/api/turns/${turn}/decisions`, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify({ callId, callKey, seenDigest, decision: 'approved' }),
  });
  await held;
  return { open, refused, status: response.status, left: idsOf(agent), texts: textsOf(agent) };
};

/** A stream that breaks at once, and the same conversation on another machine. */
const moved = async () => {
  const first = openAgent(`${thread}-moved`);
  first.addMessage({ id: crypto.randomUUID(), role: 'user', content: prompts.moved });
  const onRunStartedEvent = () => first.abortRun();
  await first.runAgent({}, { onRunStartedEvent }).catch(() => undefined);
  await first.runAgent({});
  const other = openAgent(`${thread}-moved`);
  await other.runAgent({});
  return { first: textsOf(first), other: textsOf(other), open: [idsOf(first), idsOf(other)] };
};

/** Resumes that are large, unknown or late, and a stream that breaks once it has brought one. */
const resumed = async () => {
  const [first, other] = [openAgent(`${thread}-resumed`), openAgent(`${thread}-resumed`)];
  await say(first, prompts.resumed);
  await other.runAgent({});
  const answers = [];
  const onCustomEvent = ({ event: { name: type, value } }) => {
    if (type === 'countersign.answer') answers.push(value.status);
  };
  const large = { decision: 'modified', arguments: { tag: 'x'.repeat(262_144) } };
  await decide(first, large, { onCustomEvent });
  const unknown = { interruptId: 'unknown/1.1', status: 'resolved', payload: { decision: 'approved' } };
  await first.runAgent({ resume: [unknown, ...cancelled(first)] }, { onCustomEvent });
  const open = idsOf(first);
  const onRunStartedEvent = () => first.abortRun();
  await decide(first, { decision: 'approved' }, { onRunStartedEvent }).catch(() => undefined);
  await decide(other, { decision: 'approved' }, { onCustomEvent });
  await first.runAgent({ resume: cancelled(first) });
  return { answers, open, first: textsOf(first), other: textsOf(other) };
};

const answered = async () => {
  const agent = openAgent(`${thread}-question`);
  await say(agent, prompts.question);
  await decide(agent, { answer: 'answered', content: { answer: 'large' } });
  return textsOf(agent);
};

const openChat = (id, onData) =>
  new Chat({
    ...{ id, onData },
    transport: new DefaultChatTransport({
      ...{ api: `${url}/api/chat/${name}${query}`, headers },
      prepareReconnectToStreamRequest: () => ({ api: `${url}/api/chat/${name}/${id}/stream`, headers }),
    }),
    sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
  });
const shown = ({ messages }) =>
  messages.map(({ role, parts }) => [
    role,
    ...parts.flatMap(({ type, text, state }) =>
      type === 'text' ? [text] : type === 'dynamic-tool' ? [state] : [],
    ),
  ]);
const until = async (isTrue) => {
  for (const end = Date.now() + 60_000; !isTrue(); await new Promise((go) => setTimeout(go, 20)))
    if (Date.now() > end) throw new Error('nothing came');
};

const chatted = async (prompt, approved) => {
  const chat = openChat(`${thread}-${prompt}`);
  await chat.sendMessage({ text: prompts[prompt] });
  const before = shown(chat);
  const again = openChat(`${thread}-${prompt}`);
  await again.resumeStream();
  const { approval } = chat.lastMessage.parts.find(({ type }) => type === 'dynamic-tool');
  await chat.addToolApprovalResponse({ id: approval.id, approved, reason: 'so' });
  await until(() => chat.status === 'ready' && shown(chat).at(-1).includes('That is all.'));
  return { before, again: shown(again), after: shown(chat), error: chat.error?.message };
};

/** A page that is left once its approval was taken, and one that goes on with the same conversation. */
const chatLeft = async () => {
  let isLeft = false;
  const left = openChat(`${thread}-chatLeft`, ({ type }) => {
    if (type !== 'data-countersign-answer') return;
    isLeft = true;
    void left.stop();
  });
  await left.sendMessage({ text: prompts.chatLeft });
  const { approval } = left.lastMessage.parts.find(({ type }) => type === 'dynamic-tool');
  await left.addToolApprovalResponse({ id: approval.id, approved: true });
  await until(() => isLeft && left.status === 'ready');
  const other = openChat(`${thread}-chatLeft`);
  await other.resumeStream();
  return shown(other);
};

process.stdout.write(
  JSON.stringify({
    approved: await decided('approve', { decision: 'approved' }),
    edited: await decided('edit', { decision: 'modified', arguments: { tag: 'edited-here' } }),
    denied: await decided('deny', { decision: 'denied', reason: 'too dear' }),
    answered: await answered(),
    two: await twoRequests(),
    moved: await moved(),
    resumed: await resumed(),
    chatApproved: await chatted('chat', true),
    chatDenied: await chatted('chatNo', false),
    chatLeft: await chatLeft(),
  }),
);
process.exit(0);
