/** Latin letters, each before the letters and signs that pass for it. */
const ALIKE =
  'aаαɑ4@ bвьβ cс dԁđ eеε3 gցɡ hһн iіιı1 jј kкκ lӏł mм nηո oоοօø0 pрρ qԛ rг sѕ5$ tтτ uυս vѵν wѡωԝ xхχ yуγ';
const LATIN = new Map(
  ALIKE.split(' ').flatMap(([latin = '', ...alike]) => alike.map((letter) => [letter, latin] as const)),
);

/** Words in their plain form, parted by one blank: without case, marks, width, and what does not show. */
function plain(text: string) {
  return text
    .replace(/(\p{Ll})(\p{Lu})/gu, '$1 $2')
    .normalize('NFKC')
    .toLowerCase()
    .normalize('NFD')
    .replace(/[\p{M}\p{Cf}]/gu, '')
    .replace(/[^\p{L}\p{N}$@]+/gu, ' ')
    .trim();
}

/** The plain form with a Latin letter for all that passes for one, and with letters that stand alone as one word. */
function folded(text: string) {
  const latin = [...plain(text)].map((letter) => LATIN.get(letter) ?? letter).join('');
  return latin.replace(/(?<=(?:^| )\p{L}) (?=\p{L}(?: |$))/gu, '');
}

function formsOf(text: string) {
  return [plain(text), folded(text)];
}

/** Secrets that may be digits alone. They are found inside longer words too. */
const CODES = (
  'password|passwd|passphrase|passcode|passwort|kennwort|losungswort|geheimzahl|kennziffer|einmalcode|' +
  'transaktionsnummer|contrasena|mot de passe|code secret|code confidentiel|palavra passe|codice segreto|' +
  'wachtwoord|pincode|losenord|passord|adgangskode|kodeord|engangskod|salasana|tunnusluku|jelszo|sifre|' +
  'lozink|zaporka|slaptazod|parool|mat khau|kata sandi|kata laluan|fjalekalim|lykilord|κωδικ|συνθηματικ|' +
  'парол|лозинк|пин код|пинкод|кодовое слово|кодовая фраза|құпиясөз|нууц үг|գաղտնաբառ|პაროლი|סיסמ|קוד סודי|' +
  'كلمة المرور|كلمة السر|الرقم السري|كلمه عبور|رمز عبور|گذرواژه|پاس ورڈ|पासवर्ड|कूटशब्द|পাসওয়ার্ড|' +
  'கடவுச்சொல்|પાસવર્ડ|ਪਾਸਵਰਡ|รหัสผ่าน|ລະຫັດຜ່ານ|ពាក្យសម្ងាត់|စကားဝှက်|パスワード|パスコード|パスフレーズ|暗証|合言葉|密码|密碼|口令|' +
  '비밀번호|암호|패스워드|one time code|onetime code|verification code|security code|confirmation code|' +
  'authentication code|auth code|access code|login code|sign in code|recovery code|backup code|sms code|from the sms|from your sms|texted to you|' +
  'digit code|code we sent|code from your|bestatigungscode|sicherheitscode|verifizierungscode|zugangscode|' +
  'prufziffer|prufnummer|sicherheitsfrage|sicherheitsabfrage|security question|maiden name|contrasenya|code de verification|code de securite|code de confirmation|codigo de|codice di|' +
  'verificatiecode|beveiligingscode|toegangscode|verifieringskod|kod weryfik|dogrulama kodu|ma xac|' +
  'kode verifikasi|код подтвержд|код из смс|код безопасности|код доступа|код підтвердж|קוד אימות|رمز التحقق|' +
  'رمز التأكيد|認証コード|確認コード|セキュリティコード|验证码|驗證碼|校验码|安全码|인증번호|인증 코드|인증코드|보안코드|card number|credit card|' +
  'debit card|kartennummer|kreditkarte|numero de carte|carte bancaire|numero de tarjeta|numero do cartao|' +
  'numero di carta|numero della carta|kaartnummer|kortnummer|numer karty|kart numarasi|номер карт|カード番号|卡号|' +
  '卡號|카드 번호|카드번호|social security'
).split('|');

/** The same, for words that stand by themselves. */
const SHORT_CODES =
  'pass passes passwords pwd pw pin pins mdp cvv cvc cvv2 cvc2 otp totp mfa 2fa ssn tan mtan clave senha parola heslo haslo hasla geslo шифра пин'.split(
    ' ',
  );

/** Secrets that no number is: a number of tokens or of keys is not a secret. They are found inside longer words too. */
const TEXTS = (
  'credential|geheimnis|zugangsdaten|anmeldedaten|identifiants|credencia|credenzial|token|jeton|mnemonic|' +
  'api key|apikey|access key|private key|secret key|session key|auth key|signing key|encryption key|' +
  'license key|ssh key|recovery key|api schlussel|privater schlussel|privaten schlussel|zugangsschlussel|' +
  'geheimer schlussel|cle api|cle d api|cle privee|cle secrete|cle d acces|chave de api|chave privada|' +
  'chave secreta|chave de acesso|chiave api|chiave privata|chiave segreta|llave privada|klucz pryw|' +
  'klucz api|ozel anahtar|api anahtar|api sleutel|seed phrase|recovery phrase|backup phrase|secret phrase|' +
  'seed words|keyphrase|key phrase|session cookie|frase semilla|frase de recuper|phrase de recuper|wiederherstellungsphrase|секрет|токен|' +
  'api ключ|ключ api|ключ доступа|закрытый ключ|приватный ключ|сид фраз|учетные данные|מפתח פרטי|אסימון|' +
  'المفتاح السري|المفتاح الخاص|秘密|トークン|apiキー|アクセスキー|シードフレーズ|密钥|密鑰|秘钥|私钥|私鑰|助记词|助記詞|令牌|凭证|비밀|토큰|개인키|시드 문구'
).split('|');

const SHORT_TEXTS = ['secret', 'secrets', 'secreto', 'secreta', 'segreto', 'segredo'];

const inside = { code: CODES.flatMap(formsOf), text: [...CODES, ...TEXTS].flatMap(formsOf) };
const alone = { code: SHORT_CODES.flatMap(formsOf), text: [...SHORT_CODES, ...SHORT_TEXTS].flatMap(formsOf) };

/** Whether a text speaks of a secret, in many languages: of one that may be digits alone (`code`), or of any (`text`). */
export function mentionsSecret(text: string, kind: 'code' | 'text'): boolean {
  // A capital letter begins a word only where somebody means it to.
  return [...formsOf(text), ...formsOf(text.toLowerCase())].some(
    (form) =>
      inside[kind].some((word) => form.includes(word)) ||
      form.split(' ').some((word) => alone[kind].includes(word)),
  );
}
