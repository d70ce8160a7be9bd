/** Spans of time, in milliseconds. */
export const SECOND = 1000;
export const MINUTE = 60 * SECOND;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;
/** The longest time that may be set: ten years. Longer times would exceed the dates that Temporal can represent. */
export const LONGEST = 3650 * DAY;

/** Sizes, in bytes. */
export const KIB = 1024;
export const MIB = 1024 * KIB;

/** The most characters of a text that lists are searched for. */
export const FILTER_CHARACTERS = 200;

/** The most levels of a value. Deeper values take recursive code to its limits, and no person would read them. */
export const JSON_LEVELS = 100;

/**
 * Every limit in one place. A value over its limit is refused, or cut with a mark, before it reaches history:
 * Temporal refuses a payload over 2 MB by letting the workflow hang, not fail.
 */
export const LIMITS = {
  /** The most calls in one step: more than a person can follow, and well under Temporal's 2,000 pending activities. */
  callsPerStep: 64,
  /** The most calls of one reply that get a result, which may be an error. Further calls are left out of the reply. */
  callsAnswered: 1000,
  /** The most rows of the inbox in one answer of the web inbox. */
  inboxRows: 200,
  /** The most steps in one turn, unless the agent sets it: a model that loops has to stop somewhere. */
  stepsPerTurn: 50,
  /**
   * The most calls of one step that run at the same time, so that a step does not fill a worker's activity slots.
   * Counts pure calls; with order `parallel`, all calls.
   */
  pureAtOnce: 16,
  /** The most bytes of the arguments of one call, as JSON. */
  argumentsBytes: 128 * KIB,

  /** The most bytes of one preview. Nobody can review a longer preview, so its call is not offered. */
  previewBytes: 256 * KIB,

  /** The most bytes of the whole result of `think`. It leaves room for encryption under the 2 MB payload limit. */
  thinkResultBytes: 1.5 * MIB,

  /**
   * The most bytes of the data that a provider wants back with one reply, such as its reasoning. A transcript has room
   * for many of them.
   */
  opaqueBytes: 128 * KIB,
  /** The most bytes of a tool's output, unless the tool sets it. The beginning and the end are kept. */
  outputBytes: 64 * KIB,
  /** The most bytes that a tool may set as its own output limit: the result is one payload. */
  outputBytesMost: 1 * MIB,
  /**
   * The most bytes of a result's content as JSON. Control characters take six bytes there, and the result is one
   * payload.
   */
  resultContentBytes: 1.25 * MIB,
  /**
   * The most bytes of the text of an agent's `context`. The model reads it in every step, and the result of one step
   * carries it.
   */
  contextBytes: 32 * KIB,
  /** The most bytes of the transcript of a turn: it has to fit one payload when the turn continues as new. */
  transcriptBytes: 1.5 * 1000 * 1000,
  /**
   * The most bytes that a turn takes along to another build: one payload, with room for encryption under the 2 MB
   * limit.
   */
  movedBytes: 1.8 * MIB,
  /**
   * The most bytes of the decisions that a turn takes along with its transcript when it continues as new. The newest
   * are kept.
   */
  carriedDecisionBytes: 256 * KIB,
  /** The most bytes of the input of a fork: transcript and first step in one payload, with room for encryption. */
  forkInputBytes: 1.75 * MIB,
  /** The most bytes of one page of the `transcript` query. This is half the payload limit. */
  transcriptPageBytes: 1 * MIB,

  /**
   * The most characters of a signature (enough for an RSA key of 8,192 bits) and of the text that was signed. A call
   * takes the signatures of all its voters to its worker.
   */
  signatureCharacters: 4 * KIB,
  statementCharacters: 2 * KIB,
  /** The most bytes of a decision's reason. */
  reasonBytes: 4 * KIB,
  /**
   * The most bytes of the memo that we write: visibility stores it with each turn, and the server warns at 2 KiB and
   * above.
   */
  memoBytes: 4 * KIB,
  /** The most bytes of a whole memo: the server ends a workflow whose memo is larger. This is Temporal Cloud's limit. */
  memoOfServer: 40_000,
  /** The memo keeps this many characters of the prompt, for the lists that show it. */
  promptCharacters: 200,
  /** The most requests that the memo names. Further requests are only counted. */
  memoRequests: 20,
  /** The most verdicts on signals that the memo keeps. */
  memoVerdicts: 20,
  /** The most characters of a question. */
  questionChars: 4_000,
  /** The most characters of a question's form, as JSON: a person reads all of it. */
  formCharacters: 16_000,
  /** The most bytes of a question that a running call asks, with its form. */
  callQuestionBytes: 16 * KIB,
  /**
   * The most running calls of a turn that ask at the same time. Each question is an update until it is answered, the
   * server takes ten of a run, and decisions need the others.
   */
  questionsAtOnce: 4,
  /** The most questions that one call may ask. */
  questionsOfCall: 20,
  /** The most fields of a form, and the most choices of one field. */
  formFields: 20,
  formOptions: 100,

  /** The most levels that a tool may set. Each level has a line in the memo of the turns below it. */
  childDepthMost: 6,

  /** The most further such steps before the turn ends. The calls of these steps do not run. */
  refusedSteps: 3,
  /** The most bytes of one message of a session as it arrives, with all its fields. */
  sessionMessageBytes: 1 * MIB + 16 * KIB,
  /** The most files of one message. Their references, of at most 1 KiB each, have to fit beside a text at its limit. */
  filesPerMessage: 8,
  /** The most bytes of one file: the largest image that providers take as base64. */
  fileBytes: 10 * MIB,

  /**
   * The most bytes of a turn's prompt, as JSON, and so of the text of one message of a session. A prompt is one payload,
   * and the transcript carries it through the whole turn.
   */
  sessionTextBytes: 1 * MIB,
  /**
   * The most bytes of the texts of all messages that wait in a session, as JSON: the session takes them along when it
   * continues as new.
   */
  sessionWaitingBytes: 1 * MIB,
  /** The most messages that wait in a session. */
  sessionWaiting: 500,
  /** The most message ids that a session remembers. */
  sessionIds: 1000,
  /**
   * The most bytes of a session's memory of its turns. Together with the messages that wait, this memory has to fit one
   * payload.
   */
  sessionMemoryBytes: 512 * KIB,
  /** The most bytes of the summary that a model may write in place of the oldest turns of a session. */
  summaryBytes: 16 * KIB,

  /** The most bytes that a session remembers of one turn. */
  recordBytes: 64 * KIB,

  /**
   * After this many updates, a run that waits takes no withdrawals, edits to look at again and repeats. The server takes
   * 2,000 updates for one run, and the rest are for decisions.
   */
  runUpdates: 1500,

  /** The most people who send words to one turn. Each of them counts as a requester of all that the turn does. */
  turnSenders: 100,
  /** The most bytes of a pause's reason: every worker reads it, and the reasons of all pauses have to fit one memo. */
  pauseReasonBytes: 500,
  /** The most grants that a worker and a list read: one page of the server's answer. */
  grants: 200,
  /** The most calls that one grant may allow: the server takes 2,000 updates of its workflow. */
  grantTimes: 500,
  /** The most bytes of a grant with its votes, as JSON: the memo of its workflow shows it, and lists read all memos. */
  grantBytes: 16 * KIB,
  /** The most people who confirm one grant, apart from the person who gave it. */
  grantVotes: 20,
  /** The most bytes of a stack trace inside error details. */
  stackBytes: 4 * KIB,
} as const;

/** Times, in milliseconds. */
export const TIMES = {
  /** The timeout of a tool that sets none. */
  toolTimeout: 30 * SECOND,
  /** Start-to-close is longer than the tool's timeout by this time, so that the executor ends a handler first. */
  closeMargin: 10 * SECOND,
  /** The heartbeat timeout of every call: it decides how soon a dead worker is noticed. */
  heartbeatTimeout: 10 * SECOND,
  /** An approved call that does not start within this time becomes `expired`. */
  startWithin: HOUR,

  /** The time until a task is tried again after a worker without the agent or tool took it. */
  agentRetry: 5 * SECOND,
  /** A request without a decision expires after this time, which counts as a denial. */
  requestExpires: 7 * DAY,
  /** The longest time that a grant may hold. */
  grantMost: 30 * DAY,
  /**
   * The clock of a person's machine may be ahead of the server's or the worker's clock by at most this time. A signature
   * still counts for this long after its `notAfter`.
   */
  clockSkew: 600 * SECOND,
  /** The longest time of a sign-in, which is long enough to find a password. Also that of a link of the terminal. */
  signIn: 600 * SECOND,

  /** The timeout of a `local` tool. It has to be quick, because it runs inside a workflow task. */
  localTimeout: 5 * SECOND,
  /** The timeout of one attempt of `think`, with the model call and the preparation. */
  thinkTimeout: 10 * 60 * SECOND,
  /**
   * The longest time that the steps of an agent with `durability: 'gate'` stay out of history: the default, and the
   * most that an agent may set.
   */
  commitEvery: SECOND,
  commitEveryMost: 60 * SECOND,
  /**
   * A call that may take longer than this, with all its attempts, does not run in a burst, because nobody could see
   * there that it runs.
   */
  burstCall: 600 * SECOND,

  /**
   * The time that a client waits for the answer to an update, while a worker polls the turn's queue. Then it sends the
   * signal.
   */
  updateAnswer: 10 * SECOND,

  /**
   * How old a worker's last read of the pauses may be when the worker starts a call. The same holds for what it read of
   * a grant. A worker waits so long for the server's answer, and a slow server needs some seconds.
   */
  pausesKnown: 5 * SECOND,

  /**
   * The time until a paused call is tried again: the first wait and the longest wait. Each wait is twice the wait
   * before.
   */
  pausedRetry: 5 * SECOND,
  pausedRetryMost: 60 * SECOND,
} as const;

/** How often and when a call is tried again, unless its tool or its request says so. */
export const RETRY = { maximumAttempts: 5, initialIntervalMs: SECOND, backoffCoefficient: 2 } as const;

/**
 * The retry policy of an activity that itself decides whether and when it is tried again. These waits count only if the
 * activity cannot decide, because its worker was lost.
 */
export const OWN_RETRY = {
  initialInterval: SECOND,
  backoffCoefficient: 2,
  maximumInterval: 60 * SECOND,
} as const;

/**
 * The fewest turns of which a session makes a summary. A summary takes the place of all turns but the last, and only
 * turns that the session has word by word count. A turn that runs counts, too.
 */
export const LEAST_TO_SUMMARIZE = 2;
