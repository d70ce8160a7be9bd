/**
 * The parts of the first script that a late screen uses. A late screen imports only this file, because a second copy of
 * these parts would have its own state.
 */
export { Fragment, jsx, jsxs } from 'preact/jsx-runtime';
export { useEffect, useMemo, useRef, useState } from 'preact/hooks';
export { SOMEBODY } from '../contract/authority';
export { isDenial, RESOLUTIONS, voteOf } from '../contract/decision';
export { defined } from '../contract/defined';
export { addSpent, budgetText, noSpending, spentInReply, spentText } from '../contract/spending/budget';
export { readJson } from '../contract/read-json';
export { stepOfCall } from '../contract/names';
export { isJsonObject, isObject } from '../contract/json';
export { CountersignError, errorMessage } from '../contract/errors';
export { callIdOf, effectiveEvents } from '../history/events';
export { addUsage, sumUsage } from '../contract/spending/usage';
export { keyOfStart, viewOf } from '../history/view';
export { isWaiting } from '../history/view-types';
export { allowedBy, effectOfDecision, effectOfResolution } from '../history/decisions';
export { kindOfResult, outputOf, without } from '../contract/result';
export { withDefaults } from '../contract/schema/schema';
export { leavesOf } from '../contract/text/json-diff';
export { titleIn, titleOf } from '../contract/text/call-title';
export { countMarks, deceivingIn } from '../contract/text/unsafe-text';
export { needsText } from '../contract/text/waits';
export { clock, dateTime, day, relative, span } from '../contract/text/times';
export {
  callTitle,
  changedText,
  costText,
  counted,
  describeActivity,
  describeOutcome,
  describePhase,
  describeProgress,
  describeState,
  describeTokens,
  describeUsage,
  failingTaskText,
  grantText,
  howKnown,
  hunksText,
  wordsBy,
  VERIFIED,
} from '../history/labels';
export {
  controlConversation,
  conversationPath,
  eventsAt,
  newDecisionId,
  readCall,
  readSession,
  readTurn,
  send,
  sendAnswer,
  sendAskAgain,
  sendDecision,
  sendMessage,
  sendResolution,
  shownUser,
  turnPath,
  whyRefused,
} from './http';
export { useInboxRows } from './inbox-rows';
export { grouped, keyOf, MOST_ROWS } from './model/inbox';
export { isChanged, issuesOf } from './model/draft';
export { errorText, proofText, REFUSAL_LABELS, refusalText, whoDecides } from './model/labels';
export { decisionText, hunkIds, letsRun, toDecision } from './model/review';
export { whyNot } from './model/may-approve';
export { hrefOf, parametersOf, queryOf } from './model/route';
export { DecisionFooter, focusReason, useFresh } from './screens/call/decide';
export { ArgumentsForm } from './screens/call/form';
export { CallPanel } from './screens/call/call';
export {
  AroundPanel,
  CallHead,
  CallName,
  Fact,
  isFocusLost,
  ModelSays,
  Refusal,
  UserAsked,
} from './screens/call/head';
export { LinesInput } from './screens/call/inputs';
export { sendSigned, useSend } from './screens/call/send';
export { ArgumentsView, DecidedPreview, Outcome } from './screens/call/content';
export { EditArguments, LeftOver, whatHappened } from './screens/call/edit';
export { Writing } from './ui/writing';
export { SelectBox } from './screens/inbox-list';
export { loadTyped, NOTHING_TYPED } from './kept-input';
export {
  goTo,
  Late,
  showInList,
  useAppContext,
  useKept,
  useKeys,
  useLate,
  useNow,
  usePolled,
  useRefused,
  useTabTitle,
} from './ui/app';
export { focusToDecide } from './ui/late-keys';
export { SeenEnd, SeenText, WatchSeen } from './ui/seen';
export { Code, Files, Reason, Text, visibleText } from './ui/text';
export { Ago, Chip, Deadline, Dialog, Key, SearchField, Select, useSure } from './ui/widgets';
export { storedTheme, storeTheme } from './theme';
export { useTabVisible, useTurn, withDelta } from './live';
export { listen } from './stream';
