/**
 * Commands whose program looks harmless and whose words make it run another one: each would leave a file `made` where it
 * runs.
 */
const BY_KIND: Readonly<Record<string, readonly string[][]>> = {
  'a line for a shell': [
    ['sh', '-c', 'ls; touch made'],
    ['sh', '-c', 'ls && touch made'],
    ['sh', '-c', 'ls | touch made'],
    ['sh', '-c', 'ls $(touch made)'],
    ['sh', '-c', 'ls `touch made`'],
    ['bash', '-c', 'cat <(touch made)'],
    ['bash', '-c', '{ touch made; }'],
    ['sh', '-c', 'ls\ntouch made'],
    ['sh', '-c', 'ls #\rsafe\u202e\ntouch made'],
    ['sh', '-c', 'touch$IFS./made'],
  ],
  'a program that git starts': [
    ['git', '-c', 'core.pager=touch made', '-p', 'log'],
    ['git', '-c', 'alias.status-all=!touch made', 'status-all'],
    ['git', '-c', 'diff.external=touch made', 'diff', '--no-index', '/dev/null', '/etc/hostname'],
    ['git', '-c', 'core.sshCommand=touch made', 'fetch', 'ssh://host/x'],
    ['git', '-c', 'core.fsmonitor=touch made', 'status'],
    ['git', 'fetch', '--upload-pack=touch made', '.'],
    ['git', 'clone', 'ext::touch made', 'x'],
    ['git', '--exec-path=.', 'log'],
    ['env', 'GIT_EXTERNAL_DIFF=touch made', 'git', 'diff'],
  ],
  'words and variables of env': [
    ['env', '-S', 'sh -c "touch made"', 'tr'],
    ['env', '-S', 'touch\\_made', 'ls'],
    ['env', '--split-string=touch made'],
    ['env', '-iS', 'touch made', 'tr'],
    ['env', 'LD_PRELOAD=./made.so', 'ls'],
    ['/usr/bin/env', 'BASH_ENV=./made.sh', 'bash', '-c', 'ls'],
  ],
  'a program that runs or writes what its words say': [
    ['find', '.', '-maxdepth', '0', '-exec', 'touch', 'made', ';'],
    ['find', '.', '-fprint', 'made'],
    ['sed', '1e touch made', '/etc/hostname'],
    ['sed', '-n', 'w made', '/etc/hostname'],
    ['awk', 'BEGIN { system("touch made") }'],
    ['awk', 'BEGIN { print > "made" }'],
    ['tar', '-cf', '/dev/null', '/etc/hostname', '--checkpoint=1', '--checkpoint-action=exec=touch made'],
    ['tar', '-cf', '/dev/null', '-I', 'touch made', '/etc/hostname'],
    ['xargs', '-a', '/dev/null', 'touch', 'made'],
    ['ssh', '-oProxyCommand=touch made', 'host'],
    ['rg', '--pre', './made', 'x'],
    ['sort', '-S', '1', '--compress-program=./made', '/etc/services'],
    ['rsync', '-e', 'touch made', 'x', 'host:y'],
    ['less', '+!touch made', '/etc/hostname'],
    ['man', '-P', 'touch made', 'ls'],
    ['vim', '-es', '-c', '!touch made', '-c', 'q'],
    ['make', '-f', '/dev/null', '--eval', '$(shell touch made)'],
    ['nice', 'touch', 'made'],
    ['timeout', '1', 'touch', 'made'],
    ['busybox', 'touch', 'made'],
    ['node', '-e', 'require("fs").writeFileSync("made", "")'],
    ['npm', 'exec', '-c', 'touch made'],
  ],
  'a built-in of a shell': [
    ['bash', '-c', 'export A=made; touch "$A"'],
    ['bash', '-c', 'eval "touch made"'],
    ['bash', '-c', 'typeset -i x="a[\\$(touch made)]"'],
    ['bash', '-c', 'source /dev/stdin <<< "touch made"'],
  ],
  'a line too long to read': [['sh', '-c', `${'true; '.repeat(60)}touch made`]],
};

/** Their kind, then their words. */
export const HIDING_COMMANDS = Object.entries(BY_KIND).flatMap(([kind, commands]) =>
  commands.map((argv): [kind: string, argv: string[]] => [kind, argv]),
);
