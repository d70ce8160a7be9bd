/** The rows that each measurement gives, in the order of the page that shows them. */
export const ROWS = {
  start: ['worker ready, prebuilt bundle', 'workflow bundle, without its map'],
  step: ['step', 'step with a local tool'],
  throughput: ['steps per second, 32 turns'],
  observed: ['step with metrics and traces on'],
  rate: ['calls a minute of a queue that may have 240'],
  history: ['history of 100 steps of 8 KB', 'steps of a long turn that finish'],
  gate: [
    'durability gate, 100 quick steps',
    'the same with commitEvery 0',
    'history of 100 steps of 8 KB in bursts',
  ],
  decision: ['decision sent → tool running, over a raw signal'],
  replay: ['replay', 'replay, against bare activities'],
  'replay-batch': ['replay of 200 turns'],
  timeline: ['timeline of 4,000 events'],
  show: ['show of a 40 MB history'],
  audit: ['audit export', 'verification of a million audit records'],
  policy: ['policy test, calls already read'],
  authority: [
    'who may decide, of 500 people by 200 rules',
    'signed decision → tool running, over one that is not',
  ],
  pause: [
    'pause → last start of a call with an effect, longest of 8',
    'check for a pause before such a call',
  ],
  'burst-end': [
    'cancel → last step of a burst, longest of 8',
    'pause of its activity → last step of a burst, longest of 8',
  ],
  lisp: ['Lisp lookup, over the bare Swank round trip', 'three Lisp lookups together'],
  mcp: [
    'MCP call, over the bare call and an empty activity',
    'the same of an unsafe tool',
    'step with 1,000 MCP tools, over one tool',
    'the same without find_tools',
    'start with 1,000 MCP tools, over one tool',
  ],
  gateway: [
    'gateway started → its tools listed',
    'safe call through the gateway, over the bare one',
    'the same call over HTTP',
    'decision sent → answer of the gateway',
    'the same, 54 of 60',
  ],
  plugin: [
    'activity that is not gated, with the plugin',
    'gated activity that policy lets run, pure',
    'the same, unsafe',
    'decision sent → gated activity running, over a turn',
    'the same, 54 of 60, over a turn',
    'what the plugin adds to a workflow bundle',
  ],
  sandbox: ['command in a sandbox, over the bare one', 'call of eval_code in a process that is there'],
  'web-inbox': [
    'request made → visible in an open inbox, 99 of 100',
    'click → tool running, over a raw signal',
  ],
  streaming: ['first streamed word → shown, 39 of 40'],
  session: [
    'message sent → model asked, over a bare session',
    'turn of 20 calls in a session',
    '200 sessions spoken to at once, answered',
  ],
  'long-session': [
    'turn 500 of a session, message sent → model asked, beside the 10th',
    'most events of a run of it',
    'memory of the worker at its end, beside a fifth of it',
  ],
  flood: ['step of others in a flood of 1000 signals, 99 of 100'],
  'flood-10000': ['9900 signals in one task', 'memory of the worker afterwards', 'its longest activation'],
  burst: [
    '500 decisions at once',
    'the same, over updates that set off as much',
    'of these accepted, not only on record',
    'of these taken from their worker',
  ],
  grants: [
    'of 300 granted calls at once run',
    'uses claimed for them',
    'until the last of these turns has ended',
  ],
  reset: ['step after a reset, over one before it'],
  recovery: ['killed with 2000 turns waiting → first decision effective'],
  waiting: ['memory of a waiting turn', 'processor time of 1,000 waiting turns'],
  inbox: ['first 100 requests, 10,000 turns waiting'],
} as const;

export type MeasurementName = keyof typeof ROWS;
/** A row of the page. `COUNTERSIGN_BENCH_TURNS` sets another number in one of them. */
export type RowName = (typeof ROWS)[MeasurementName][number] | `turn ${number} of a session, ${string}`;
