package simulator

// The words that the triage reader knows, in small letters, as beginnings or parts of words and phrases.
// They are chosen so that a phrase stands for one meaning: "court" alone may hold tennis players.
var (
	threatWords = []string{
		"lawyer", "attorney", "solicitor", "legal action", "legal step", "legal proceeding", "take you to court", "see you in court",
		"claims court", "in court", "sue you", "suing", "lawsuit", "ombudsman", "trading standards", "consumer protection authorit",
		"data protection authorit", "report you to",
		"anwalt", "anwält", "rechtliche schritte", "rechtlich vorgehen", "gerichtlich", "vor gericht", "mahnbescheid",
		"verbraucherzentrale", "klage einreichen", "strafanzeige",
		"mon avocat", "notre avocat", "un avocat", "mise en demeure", "tribunal", "poursuites", "action en justice", "porter plainte",
		"abogad", "acciones legales", "demandar", "denuncia", "juzgado", "avvocat", "vie legali", "advocaat", "advogado",
		"עורך דין", "עורכת דין", "עו\"ד", "תביעה", "בית משפט", "בית המשפט", "הגנת הצרכן", "צעדים משפטיים", "לתבוע",
	}
	hazardWords = []string{
		"smell of gas", "smell gas", "smells of gas", "gas leak", "leaking gas", "caught fire", "on fire", "catch fire", "flames",
		"smoke", "smoking", "burning smell", "smells burnt", "burned my", "burnt my", "burned her", "burned his", "burnt her", "burnt his",
		"electric shock", "electrocut", "got a shock", "a shock from", "sparks", "sparking", "explod", "choke", "choking", "injur",
		"overheat", "melted", "melting", "cut my", "cut her", "cut his", "carbon monoxide", "poison", "allergic reaction",
		"gasgeruch", "riecht nach gas", "nach gas", "brennt", "gebrannt", "feuer", "rauch", "qualm", "stromschlag", "verbrannt", "verletzt",
		"explodiert", "funken", "geschmolzen", "erstick",
		"odeur de gaz", "fuite de gaz", "pris feu", "fumée", "brûl", "décharge électrique", "électrocut", "blessé", "étincelle", "étouff",
		"olor a gas", "huele a gas", "fuga de gas", "incendi", "humo", "quemadura", "quemó", "descarga eléctrica", "calambre", "herid",
		"chispa", "asfixi", "scossa", "fumo dal",
		"עשן", "שריפה", "נשרף", "נשרפ", "אש ", "התחשמל", "מכת חשמל", "ריח גז", "ריח של גז", "דליפת גז", "נפצע", "כוויה", "כווייה", "ניצוצות", "התפוצץ", "נחנק",
	}
	intruderWords = []string{
		"hacked", "somebody else logged in", "someone else logged in", "someone logged in", "someone else has logged", "broke into my account",
		"someone is using my account", "somebody is using my account", "gehackt", "fremder zugriff", "piraté", "hackead", "פרצו", "נפרץ",
	}
	standstillWords = []string{
		"our shop is down", "our store is down", "production is down", "completely down", "nobody can work", "no one can work", "cannot work at all",
		"can't work at all", "can't take orders", "cannot take orders", "can't take any orders", "losing sales", "business is at a standstill",
		"steht still", "stehen still", "stillstand", "nichts geht mehr", "niemand kann arbeiten", "à l'arrêt", "aucune commande ne passe",
		"paralizad", "no podemos vender", "no podemos trabajar", "מושבת", "לא יכולים לעבוד", "העסק עומד",
	}
	deniedTrouble = []string{"not a bug", "no bug", "no problem", "no issue", "not an issue", "not a problem", "not a complaint", "kein problem",
		"pas de problème", "pas un problème", "sin problema", "ningún problema", "אין בעיה", "never had any problem", "never had a problem"}
	troubleWords = []string{
		"twice", "wrong", "refund", "owe me", "overcharg", "still waiting", "hasn't arrived", "has not arrived", "not arrived", "never arrived",
		"didn't arrive", "did not arrive", "late", "missing", "lost", "broken", "broke", "crack", "damaged", "defect", "faulty", "stopped working",
		"doesn't work", "does not work", "not working", "won't ", "can't ", "cannot ", "unable to", "error", "bug", "crash", "fails", "failed",
		"locked out", "problem", "torn", "scratch", "complain", "disappoint",
		"nicht angekommen", "noch nicht", "noch immer", "falsch", "doppelt", "kaputt", "defekt", "beschädigt", "fehler", "fehlt", "funktioniert nicht",
		"geht nicht", "kann mich nicht", "kann nicht", "zu viel", "erstattung", "verloren", "verspät", "reklam",
		"pas reçu", "pas arrivé", "toujours pas", "ne fonctionne", "ne marche", "cassé", "défectueu", "erreur", "rembours", "deux fois", "abîmé", "perdu",
		"en retard", "impossible de", "panne", "manque",
		"no puedo", "no ha llegado", "no llega", "no llegó", "no funciona", "roto", "rota", "defectuos", "dañad", "reembols", "dos veces", "error", "equivocad",
		"perdid", "falta", "retras", "incorrect",
		"non funziona", "non è arrivat", "rotto", "rimborso", "werkt niet", "niet aangekomen", "kapot", "não chegou", "não funciona",
		"לא הגיע", "לא עובד", "שבור", "פגום", "החזר", "פעמיים", "טעות", "שגיאה", "תקלה", "חסר", "לא מצליח", "לא יכול", "איחור", "נעלם", "בעיה", "התקלקל",
	}
)

// categoryWords are what each category is spoken of with; the order decides between equals.
var categoryWords = []struct {
	name  string
	words []string
}{
	{"billing", []string{
		"charge", "refund", "invoice", "payment", "bill", "card statement", "credit card", "owe me", "dollars", "subscription fee", "vat",
		"rechnung", "abgebucht", "abbuchung", "erstatt", "zahlung", "lastschrift", "kreditkarte", "factur", "rembours", "prélev", "paiement", "débit",
		"cobro", "cobrad", "reembols", "pago", "tarjeta", "fattura", "rimborso", "addebit", "factuur", "betaling",
		"חיוב", "חויב", "חשבונית", "החזר", "תשלום", "אשראי", "זיכוי",
	}},
	{"delivery", []string{
		"deliver", "parcel", "package", "shipment", "shipping", "courier", "tracking", "hasn't arrived", "not arrived", "never arrived", "didn't arrive",
		"paket", "lieferung", "geliefert", "zustell", "angekommen", "sendung", "versand", "versend", "colis", "livr", "expédi", "pas arrivé", "suivi",
		"paquete", "entrega", "envío", "enviad", "no ha llegado", "pacco", "consegn", "spedi", "pakket", "bezorg",
		"משלוח", "חבילה", "לא הגיע", "שליח",
	}},
	{"product", []string{
		"broken", "broke ", "crack", "damaged", "defect", "faulty", "warranty", "stopped working", "scratch", "torn", "kaputt", "defekt", "beschädigt",
		"garantie", "gewährleistung", "cassé", "abîmé", "défectueu", "roto", "rota ", "defectuos", "dañad", "garantía", "rotto", "difettos", "kapot",
		"שבור", "פגום", "אחריות", "התקלקל", "נשבר",
	}},
	{"technical", []string{
		"website", "web site", "webhook", "api", " app ", " app,", "integration", "interface", "error 5", "checkout page", "browser", "plugin", "endpoint",
		"webseite", "schnittstelle", "fehlermeldung", "erreur 5", "site web", "votre site", "boutique est", "application", "página web", "sitio web",
		"aplicación", "sito", "האתר", "אפליקציה", "ממשק", "דפדפן",
	}},
	{"account", []string{
		"my account", "log in", "logged in", "login", "sign in", "signing in", "password", "personal data", "email address", "locked out", "two-factor", "username",
		"konto", "passwort", "anmelden", "einloggen", "anmeldung", "mon compte", "mot de passe", "connecter", "mi cuenta", "contraseña", "iniciar sesión",
		"mio account", "wachtwoord", "inloggen", "סיסמה", "סיסמא", "להתחבר", "לחשבון שלי", "החשבון שלי",
	}},
}
