const KIB = 1024;
const MIB = 1024 * KIB;
const SECOND = 1000;
const HOUR = 3600 * SECOND;

/**
 * Every limit in one place. A value over its limit is refused, or cut with a mark, before it reaches history:
 * Temporal refuses a payload over 2 MB by letting the workflow hang, not fail.
 */
export const LIMITS = {
  /** Calls in one step: more than a person can follow, and well under Temporal's 2,000 pending activities. */
  callsPerStep: 64,
  /** Steps in one turn unless the agent sets it: a model that loops has to stop somewhere. */
  stepsPerTurn: 50,
  /** Pure calls that run at once, so that one step does not fill a worker's activity slots. */
  pureAtOnce: 16,
  /** Arguments of one call, in bytes of JSON. */
  argumentsBytes: 128 * KIB,
  /** Arguments of all calls of a step: `think` returns them in one payload. */
  argumentsBytesPerStep: 768 * KIB,
  /** One preview. Longer ones cannot be reviewed, so the call is not offered. */
  previewBytes: 256 * KIB,
  /** All previews of a step: `think` returns them in one payload. */
  previewBytesPerStep: 512 * KIB,
  /** The whole result of `think`: leaves room for encryption under the 2 MB payload limit. */
  thinkResultBytes: 1.5 * MIB,
  /** Bytes of a burst's result after which it takes no further step, so that the last reply still fits the payload. */
  burstBytes: 256 * KIB,
  /**
   * The most that a burst returns, with room for encryption. Results over this are left out: the turn runs their calls.
   */
  burstResultBytes: 1.75 * MIB,
  /**
   * The data that a provider wants back with one reply, such as its reasoning. A transcript has room for many of them.
   */
  opaqueBytes: 128 * KIB,
  /** Output of a tool, unless the tool sets its own limit. The beginning and the end are kept. */
  outputBytes: 64 * KIB,
  /** The most a tool may set as its own output limit: the result is one payload. */
  outputBytesMost: 1 * MIB,
  /** The content of a result as JSON: control characters take six bytes there, and the result is one payload. */
  resultContentBytes: 1.25 * MIB,
  /** The text of an agent's `context`. The model reads it in every step, and the result of one step carries it. */
  contextBytes: 32 * KIB,
  /** The transcript of a turn: it has to fit one payload when the turn continues as new. */
  transcriptBytes: 1.5 * 1000 * 1000,
  /**
   * Everything that a turn takes along to another build: one payload, with room for encryption under the 2 MB limit.
   */
  movedBytes: 1.8 * MIB,
  /** Decisions that a turn takes along with its transcript when it continues as new. They are the newest that fit. */
  carriedDecisionBytes: 256 * KIB,
  /** The input of a fork: transcript and first step in one payload, with room for encryption. */
  forkInputBytes: 1.75 * MIB,
  /** One page of the `transcript` query. This is half the payload limit. */
  transcriptPageBytes: 1 * MIB,
  /** Transcripts and results in the memory of a worker. The least recently used go first. */
  workerMemoryBytes: 64 * MIB,
  /** A decision or a resolution as it comes in, with arguments or content at their limits and the other fields. */
  messageBytes: 256 * KIB,
  /** A late outcome as it comes in: an output and arguments at their limits. A longer one is left to `verify`. */
  outcomeBytes: 1.5 * MIB,
  /**
   * Characters of a signature, enough for an RSA key of 8,192 bits, and of the text beside it. A call takes the
   * signatures of all its voters to its worker.
   */
  signatureCharacters: 4 * KIB,
  statementCharacters: 2 * KIB,
  /** The reason of a decision. */
  reasonBytes: 4 * KIB,
  /** The memo we write: visibility stores it with each turn, and the server warns at 2 KiB and above. */
  memoBytes: 4 * KIB,
  /** One call that a user's workflow gates, with arguments and preview. The memo holds the call while it is open. */
  gateRequestBytes: 16 * KIB,
  /** Characters of the prompt in the memo, which lists show. */
  promptCharacters: 200,
  /** Requests that the memo names. The other requests are only counted. */
  memoRequests: 20,
  /** Verdicts on signals that the memo keeps. */
  memoVerdicts: 20,
  /** Characters of a question. */
  questionChars: 4_000,
  /** Characters of the form of a question, as JSON: a person reads all of it. */
  formCharacters: 16_000,
  /** Bytes of a question that a running call asks, with its form. The memo holds the question. */
  callQuestionBytes: 16 * KIB,
  /** Questions of one call. */
  questionsOfCall: 20,
  /** Fields of a form, and choices of one field. */
  formFields: 20,
  formOptions: 100,
  /** Characters of one text in an answer: 20 of them fit a result that the model reads. */
  answerTextChars: 2_000,
  /** Bytes of a secret in an answer, and characters of it once it is encrypted. */
  secretBytes: 4_096,
  sealedCharacters: 10_000,
  /** Levels of child turns, unless the tool sets it. The limit is needed because an agent may call itself by name. */
  childDepth: 3,
  /** The most levels that a tool may set. Each level has a line in the memo of the turns below it. */
  childDepthMost: 6,
  /** Child turns that one turn starts unless the tool sets it. */
  childrenPerTurn: 50,
  /** Steps in a row with the same calls and the same results, unless the agent sets it. */
  repeatedSteps: 8,
  /** Further such steps before the turn ends. The calls of these steps do not run. */
  refusedSteps: 3,
  /** One message of a session as it comes in, with all its fields. */
  sessionMessageBytes: 1 * MIB + 16 * KIB,
  /** Files of one message. Their references, of at most 1 KiB each, have to fit beside a text at its limit. */
  filesPerMessage: 8,
  /** Bytes of one file: the largest image that providers take as base64. */
  fileBytes: 10 * MIB,
  /** Bytes of all files in one request to a model, newest first: providers take some 30 MB, and base64 adds a third. */
  filesPerRequestBytes: 16 * MIB,
  /** The most of one text file that a model reads. The beginning and the end are kept. */
  fileTextBytes: 64 * KIB,
  /** The text of one message of a session, as JSON: it is the prompt of a turn. */
  sessionTextBytes: 1 * MIB,
  /** Texts of all messages that wait in a session, as JSON: the session takes them along when it continues as new. */
  sessionWaitingBytes: 1 * MIB,
  /** Messages that wait in a session. */
  sessionWaiting: 500,
  /** Ids of messages that a session remembers. */
  sessionIds: 1000,
  /** The memory that a session has of its turns. Together with the messages that wait, it has to fit one payload. */
  sessionMemoryBytes: 512 * KIB,
  /** The summary that a model may write in place of the oldest turns of a session. */
  summaryBytes: 16 * KIB,
  /** Tokens of conversation over which a session has its oldest turns summarized, unless the agent says so. */
  compactOver: 64_000,
  /** The memory that a session has of one turn. */
  recordBytes: 64 * KIB,
  /** In the memory of one turn: the arguments of one call, and the content of one result. */
  recordArgumentsBytes: 2 * KIB,
  recordResultBytes: 4 * KIB,
  /** Updates and signals after which a session continues as new: the server takes 2,000 updates of one run. */
  sessionMessages: 1500,
  /** The same count for a session in which nothing runs and nothing waits. */
  sessionIdleMessages: 500,
  /** Words that came for a running turn and were not taken up yet. */
  turnWords: 100,
  /** The reason of a pause: every worker reads it, and the reasons of all pauses have to fit one memo. */
  pauseReasonBytes: 500,
  /**
   * Grants that hold at once, and calls that one grant may allow. The grants with their uses have to fit one payload.
   */
  grants: 50,
  grantTimes: 500,
  /** All grants without their uses, as JSON. */
  grantsBytes: 1024 * KIB,
  /** People who confirm one grant, apart from the person who gave it. */
  grantVotes: 20,
  /** People who are away or will be, and those who came back before their time. With all grants they have to fit one payload. */
  away: 200,
  awayBytes: 128 * KIB,
  awayEnded: 200,
  /**
   * Updates after which the workflow that holds the pauses continues as new: a worker replays all of them to answer
   * one.
   */
  pauseUpdates: 200,
  /** Stack traces inside error details. */
  stackBytes: 4 * KIB,
} as const;

/** Times, in milliseconds. */
export const TIMES = {
  /** A tool's own timeout unless set. */
  toolTimeout: 30 * SECOND,
  /** The time by which start-to-close is longer than the tool's timeout. So the executor ends a handler first. */
  closeMargin: 10 * SECOND,
  /** Heartbeat timeout of every call: how soon a dead worker is noticed. */
  heartbeatTimeout: 10 * SECOND,
  /** An approved call has to start within this time or it is `expired`. */
  startWithin: HOUR,
  /**
   * The time that a call waits for the worker that holds its state. After it, the state counts as lost. A live worker
   * takes the call in milliseconds. A worker that is busy for some seconds must not lose the state.
   */
  holderAnswer: 15 * SECOND,
  /** The time that a turn waits for a worker that has its agent, unless the config sets it. */
  agentWait: 600 * SECOND,
  /** The time until a task is tried again that a worker without the agent or tool took. */
  agentRetry: 5 * SECOND,
  /** A request without a decision expires into a denial. */
  requestExpires: 7 * 24 * HOUR,
  /** A `local` tool has to be quick: it runs inside a workflow task. */
  localTimeout: 5 * SECOND,
  /** The whole of one `think` attempt: model call and preparation. */
  thinkTimeout: 10 * 60 * SECOND,
  /**
   * The time that the steps of an agent with `durability: 'gate'` stay out of history: the default, and the most that
   * an agent may set.
   */
  commitEvery: SECOND,
  commitEveryMost: 60 * SECOND,
  /**
   * A call that may take longer than this, with all attempts, does not run in a burst, because nobody could see there
   * that it runs.
   */
  burstCall: 600 * SECOND,
  /** The time that one model is asked for a summary, all attempts together. Messages of people wait meanwhile. */
  summaryRetry: 120 * SECOND,
  /** The time for one attempt to read the record of a closed turn. Its worker replays the whole turn for this. */
  recallTimeout: 60 * SECOND,
  /** The time that a client waits for an update before it sends the signal, while a worker polls the turn's queue. */
  updateAnswer: 10 * SECOND,
  /** The time that a client waits before it looks whether a worker polls the queue. */
  updateLook: 3 * SECOND,
  /**
   * The time that a client waits for a turn that is full of updates, and for an edit. An edit is checked before it is
   * on record, so it is never sent as a signal.
   */
  busyAnswer: 60 * SECOND,
  /** The age that a worker's knowledge of the pauses may have when it starts a call. */
  pausesKnown: SECOND,
  /** The time that a call waits for the use of a grant before it becomes a request. */
  useAnswer: 3 * SECOND,
  /** The time until a paused call is tried again: the first, and the longest. Each wait is twice the wait before. */
  pausedRetry: 5 * SECOND,
  pausedRetryMost: 60 * SECOND,
  /** The time that a client retries `unknown_call`, because the request may be about to be registered. */
  unknownCallRetry: 2 * SECOND,
} as const;
