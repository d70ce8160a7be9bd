// Written by scripts/confusables.mjs from confusables.txt of Unicode 16.0.0; do not edit.

const STEPS =
  '50 4 e h f 23 o 9 1 1a 3 3 3 3 6 3 2 8 1 3 2 1 5 7 4 5 1 3 1 2 2h 6 1 u g g 2 6 1 5 s 4 5 f 3 4 1 e 1 1 1 1 1 4 1 1 2 2 2 1 5 7 4 1 1 h 6 2 2 3g 6 5 5 d 1 3 1 1 2 1 2 1 2 2 3 1 2 a 2 6 4 2 2 2 2 d a c 9 1 1 6 1 b 1 2 8 2 3 2 3 2 1 1 2 1 1 1 2 6 1 2 2 1 2 2 9 2 1 2 2 g 1 2 9 j 1 s t 1 c 2 3 f 5 1 b x b f 1 1 1c 2 6 5 3 4 2 3 a 8 4 1 4 3 1 4 1j 3 i 3 1 6 2 f 1 1 1 1 p q w p 1 4 2 4 2 29 3 j 1 r 1 4 2 a 1 1 1 58 a 16 1 5 7d 2r n 2x 4 3 3d 1 3 p 2r t t 1y 2 3i s 2s s 2s s u 1y 7 l 5q 3k 99 z 4n o 75 5s 5s 1 1 2 1 4 1 1 1 2 5 4 4 2 3 2 1 b 1 3 2 1 4 1 4 1 3 4 1 7 5 1 c 1b 4 5 i 2 r 6 2 3 k 1 1 5 t l 3m 1n 1 a 14 5 h p c 6 7 3a 1 1w 5 a b 9 1 m 1 20 5q 6 y2 1d b 2 b 4 1 1 4 1x o 9 7l 2q 5a 1 1 1 1p 1 i 1 1 1 3 2 1 1 1 1 1 2 j 1 1 1 1 1 2 1 7 2 1 a 5 4 3 2k 3c f 5x 3 1 1 7 5 2 3 2 c 6 1a 1 1l t 2 l 1 12 38 1 6 3n 25 87 2 dx 1 5 1 3 1 1 1 w 1 1h 2 c 9e 1 5l 3 1 13 f 3a 2e 2 aw 9 4 2 4 2 4 1 3 1 1 1 1 2 4 e c 4 2 4 2 13 1r 1 m 2 3 1 8 5n 1 n 5e 1 74 4 d 1 u 31 1a 79 1 5lu 9 h3l 1 1 1 1 2 1 2 1 2 1 2 1 1 1 1 3 1 3 1 1 2 2 2 1 1 4 1 1 1 2 1 1 7j 1i 3 29 1 1y c 4 1l 9 1 1 1 1 1 1 1 1 1 1 1 1 h 1 b g 4 9 1 h 3 c 1 6 c 7 1 1 ou 3 8 a 1 6 4 8 9 i c 2 g m 1 5 fsn 1 1 1 1 1 1 1 b5 1 7t 1h 1 2j 1 1 1 70 ii 4 1 3 6 2 3 1 1 4 5 1 1 3 6 5 1 1 2 r 12 c 1 7 8 4 2 3 5 1 2 6a h 6 5 c h b 30 e c 4 o c t 3 2 4 1 8 1 1 10p 22o fk 6 4 4 1 b5 2 1 1 2 3 3 2 1 3 3 3 3 1 4 1 1 1 1 2 2 2 2 9 1 1 1 4 4 3 2 1 3 3 3 3 h06 2 c i d 5 1 4 1 2 1 e 1 jb6 2h 49 7 2 3 1 3 k c 1 3 1 vd 4 1 3 1 1 2 1 2 1 2 2 3 1 2 4 2 6 4 2 2 2 2 a 2 1 3 1 1 2 1 2 1 2 2 3 1 2 4 2 6 4 2 2 2 2 a 2 1 3 1 1 2 1 2 1 2 2 3 1 2 4 2 6 4 2 2 2 2 a 2 1 3 1 1 2 1 2 1 2 2 3 1 2 4 2 6 4 2 2 2 2 a 2 1 3 1 1 2 1 2 1 2 2 3 1 2 4 2 6 4 2 2 2 2 a 2 3ct 4 111 10 1s s 4 iu 15i 7 1x g c 3 1';

/** Code points that pass for ASCII by Unicode's data (UTS 39), but for those that normalize to it: as in [ ] of a RegExp. */
export const CONFUSABLES = classOf(STEPS);

function classOf(steps: string) {
  let point = 0;
  return steps.replace(/\w+ ?/g, (step) => {
    point += parseInt(step, 36);
    return `\\u{${point.toString(16)}}`;
  });
}
