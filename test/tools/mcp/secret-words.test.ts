import { mentionsSecret } from '../../../src/tools/mcp/secret-words';

it.each([
  ...['Your PIN', 'Enter the OTP of your phone', 'CVV', '2FA', 'card_cvv', 'cardNumber', 'verification code'],
  ...['the 6-digit code we sent to your phone', 'credit card', 'one-time code', 'p\u0430ssword', 'PАSSWORD'],
  ...[
    'pass\u200bword',
    'pass\u00adword',
    'p a s s w o r d',
    'p.a.s.s.w.o.r.d',
    'P@ssw0rd',
    'ｐａｓｓｗｏｒｄ',
    'рin',
  ],
  ...['PaSsWoRd', 'пapoль', 'pаssԝоrd', 'the code from the SMS', 'Sicherheitsabfrage', 'your maiden name'],
  ...['𝐩𝐚𝐬𝐬𝐰𝐨𝐫𝐝', 'pässwörd', 'Netzwerkkennwort', 'Geheimzahl', 'Bestätigungscode', 'contraseña', 'su clave'],
  ...[
    'mot de passe',
    'senha',
    'wachtwoord',
    'lösenord',
    'salasana',
    'hasło',
    'heslo',
    'jelszó',
    'parolă',
    'şifre',
  ],
  ...['mật khẩu', 'kata sandi', 'пароль', 'ПИН-код', 'код подтверждения', 'κωδικός', 'סיסמה', 'كلمة المرور'],
  ...[
    'पासवर्ड',
    'รหัสผ่าน',
    'パスワード',
    '暗証番号',
    '認証コード',
    '密码',
    '验证码',
    '비밀번호',
    '인증번호',
    'カード番号',
  ],
])('%j is for a secret that may be a number', (text) => {
  expect(mentionsSecret(text, 'code')).toBe(true);
  expect(mentionsSecret(text, 'text')).toBe(true);
});

it.each([
  ...[
    'the API key',
    'Enter your token',
    'seed phrase',
    'recovery phrase',
    'a secret',
    'privateKey',
    'the keyphrase of your wallet',
    'session cookie',
    'credentials',
  ],
  ...['API-Schlüssel', 'clé privée', 'chiave segreta', 'секретный ключ', 'токен', '助记词', '秘密鍵', '토큰'],
])('%j is for a secret that no number is', (text) => {
  expect(mentionsSecret(text, 'text')).toBe(true);
  expect(mentionsSecret(text, 'code')).toBe(false);
});

it.each([
  ...[
    'How many pages?',
    'Which country code?',
    'Name of the secretary',
    'a passenger',
    'Spinning',
    'opinion',
    'keyboard',
  ],
  ...[
    'Wie viele Seiten?',
    'Включить уведомления?',
    'Сколько страниц?',
    'Πόσες σελίδες;',
    '何ページですか',
    'スキー',
    '많은 페이지',
  ],
  ...['conclave', 'desenhar', 'Postleitzahl', 'كم صفحة؟', 'कितने पृष्ठ', ''],
])('%j is for no secret', (text) => {
  expect(mentionsSecret(text, 'text')).toBe(false);
});
