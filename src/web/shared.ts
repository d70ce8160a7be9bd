/**
 * What a screen that is loaded late takes from the script that is there already: a second copy of it would have a state of
 * its own. The screen imports this file alone.
 */
export { Fragment, jsx, jsxs } from 'preact/jsx-runtime';
export { useEffect, useMemo, useRef, useState } from 'preact/hooks';
export { leavesOf } from '../contract/text/json-diff';
export { callSummary } from '../contract/text/call-summary';
export { countMarks, deceivingIn } from '../contract/text/unsafe-text';
export { dateTime, span } from '../contract/text/times';
export { costText, counted, describeTokens, percentText, spreadText, unreadText } from '../history/labels';
export { newDecisionId, readCall, readStats, sendDecision } from './http';
export { keyOf, MOST_ROWS } from './model/inbox';
export { errorText, refusalText } from './model/labels';
export { hunkIds, toDecision, whyNot } from './model/review';
export { hrefOf } from './model/route';
export { DecisionFooter, focusReason } from './screens/call/decide';
export { SelectBox } from './screens/inbox-list';
export { NOTHING_TYPED } from './typed';
export { useAppContext, useKeys, useNow } from './ui/app';
export { SeenEnd, SeenText, Text, WatchSeen } from './ui/text';
export { Chip, Deadline, Select } from './ui/widgets';
