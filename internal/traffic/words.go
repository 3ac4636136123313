package traffic

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// language is what people and models say in one.
type language struct {
	name      string
	topics    []string
	openers   []string // %s is the topic
	follows   []string // %d is a number
	sentences []string // %s is the topic, %d a number
	titles    []string // prompts for a title; the conversation follows
	tags      []string
	suggest   []string // prompts for follow-up questions
	compact   []string // prompts for a summary that replaces the history
	summaries []string // what a summary opens with
	resume    []string // what a client puts before a summary
	carryOn   []string // what a client puts behind it
}

func languages() []*language { //nolint:funlen // it is a list
	return []*language{
		{
			name:      "English",
			topics:    []string{"a box kite", "a beehive in winter", "a dobsonian mount", "a cedar canoe", "glazing stoneware", "a rope ladder", "a cold frame", "tuning a harmonium"},
			openers:   []string{"Where do I begin with %s?", "I want to build something: %s. What do I need?", "Talk me through %s, please.", "What goes wrong most often with %s?", "Is %s something for a beginner?"},
			follows:   []string{"And with only %d days left?", "Could it be done for under %d euros?", "Say that again in %d words.", "What if number %d on your list is missing?", "My neighbour needed %d tries. Why?", "Which of the %d steps may I skip?"},
			sentences: []string{"For %s you want dry weather and about %d minutes.", "Mark the %d places that carry the load before you cut anything.", "Most people rush the part that comes after the first %d pieces.", "With %s the second attempt is nearly always better.", "Keep %d spare ones within reach.", "Measure again: a difference of %d millimetres shows at the end.", "If %s leans to one side, loosen and start from the middle.", "A friend of mine needed %d evenings for it and would do it again."},
			titles:    []string{"Give this chat a title of no more than five words.", "### Assignment\nFind a fitting title (3-6 words) for the chat below and answer with nothing else.", "Create a headline-like title for the following conversation.", "Summarise what the user wants as a short title."},
			tags:      []string{"List one to three broad tags that categorise the conversation below, as a JSON array.", "### Assignment\nChoose up to 4 tags for this chat history and return {\"tags\": [...]} only."},
			suggest:   []string{"Suggest three follow-up questions that the user may ask next, as a JSON list.", "### Assignment\nPropose 2-4 follow-up prompts for this chat, from the user's point of view, as JSON."},
			compact:   []string{"We are running out of room. Sum up this whole conversation so that another assistant can go on from your summary alone.", "Compact the conversation: write a summary with the goal, what has been decided, which files were touched and what comes next.", "Your task is to write a detailed summary of our conversation up to now. Do not call any tool.", "Provide a handoff summary of the work in this thread so that it can be resumed in a fresh context window."},
			summaries: []string{"Goal: %s. So far %d points are settled.", "The user is working on %s; %d items are done."},
			resume:    []string{"Earlier parts of this conversation were condensed into this summary:\n\n", "This session goes on from an earlier one that grew too long. What happened there:\n", "[context compacted]\n\n"},
			carryOn:   []string{"\n\nGo on where we stopped, without asking anything.", "\n\nContinue with the next open item.", ""},
		},
		{
			name:      "German",
			topics:    []string{"ein Kastendrachen", "Bienen im Winter", "ein Kanu aus Zeder", "Steinzeug glasieren", "eine Strickleiter", "ein Frühbeet"},
			openers:   []string{"Wo fange ich an, wenn es um %s geht?", "Ich möchte mich an etwas wagen: %s. Was brauche ich?", "Führe mich bitte durch das Thema %s.", "Was geht bei %s am häufigsten schief?"},
			follows:   []string{"Und wenn nur noch %d Tage bleiben?", "Geht das für weniger als %d Euro?", "Bitte noch einmal in %d Wörtern.", "Warum hat mein Nachbar %d Anläufe gebraucht?"},
			sentences: []string{"Für %s brauchst du trockenes Wetter und ungefähr %d Minuten.", "Zeichne die %d tragenden Stellen an, bevor du sägst.", "Beim Thema %s gelingt der zweite Versuch fast immer besser.", "Lege %d Ersatzstücke bereit.", "Miss noch einmal: %d Millimeter sieht man am Ende.", "Eine Freundin hat dafür %d Abende gebraucht."},
			titles:    []string{"Gib diesem Gespräch einen Titel mit höchstens fünf Wörtern.", "Erstelle einen kurzen Titel für die folgende Unterhaltung. Antworte nur mit dem Titel."},
			tags:      []string{"Nenne ein bis drei Schlagwörter (Tags) für das folgende Gespräch als JSON-Liste."},
			suggest:   []string{"Schlage drei Anschlussfragen vor, die der Nutzer als Nächstes stellen könnte, als JSON-Liste."},
			compact:   []string{"Der Platz wird knapp. Fasse das ganze bisherige Gespräch so zusammen, dass ein anderer Assistent allein damit weiterarbeiten kann.", "Schreibe eine ausführliche Zusammenfassung unserer Unterhaltung bis hierher: Ziel, Entscheidungen, geänderte Dateien, nächster Schritt."},
			summaries: []string{"Ziel: %s. Bisher sind %d Punkte geklärt."},
			resume:    []string{"Frühere Teile dieses Gesprächs wurden so zusammengefasst:\n\n"},
			carryOn:   []string{"\n\nMach dort weiter, wo wir aufgehört haben.", ""},
		},
		{
			name:      "French",
			topics:    []string{"un cerf-volant", "les abeilles en hiver", "un canoë en cèdre", "l'émaillage du grès", "une échelle de corde"},
			openers:   []string{"Par où commencer avec %s ?", "Je voudrais me lancer : %s. De quoi ai-je besoin ?", "Qu'est-ce qui rate le plus souvent avec %s ?"},
			follows:   []string{"Et s'il ne reste que %d jours ?", "Est-ce faisable pour moins de %d euros ?", "Redis-le en %d mots, s'il te plaît."},
			sentences: []string{"Pour %s, il faut un temps sec et environ %d minutes.", "Marque les %d points qui portent la charge avant de couper.", "Garde %d pièces de rechange à portée de main.", "Mesure encore : %d millimètres se voient à la fin.", "Avec %s, le deuxième essai est presque toujours meilleur."},
			titles:    []string{"Donne à cette conversation un titre de cinq mots au plus.", "Crée un titre court pour la conversation suivante. Réponds uniquement par le titre."},
			tags:      []string{"Donne une à trois étiquettes (tags) pour la conversation suivante, en JSON."},
			suggest:   []string{"Propose trois questions de suivi que l'utilisateur pourrait poser ensuite, en JSON."},
			compact:   []string{"La place manque. Résume toute cette conversation pour qu'un autre assistant puisse continuer à partir de ton seul résumé.", "Rédige un résumé détaillé de notre conversation jusqu'ici : but, décisions, fichiers modifiés, prochaine étape."},
			summaries: []string{"But : %s. Jusqu'ici, %d points sont réglés."},
			resume:    []string{"Résumé de la conversation précédente :\n\n"},
			carryOn:   []string{"\n\nReprends là où nous nous étions arrêtés.", ""},
		},
		{
			name:      "Spanish",
			topics:    []string{"una cometa de caja", "las abejas en invierno", "una canoa de cedro", "esmaltar gres", "una escala de cuerda"},
			openers:   []string{"¿Por dónde empiezo con %s?", "Quiero atreverme con algo: %s. ¿Qué necesito?", "¿Qué suele salir mal con %s?"},
			follows:   []string{"¿Y si solo quedan %d días?", "¿Se puede hacer por menos de %d euros?", "Dilo otra vez en %d palabras."},
			sentences: []string{"Para %s hace falta tiempo seco y unos %d minutos.", "Marca los %d puntos que llevan la carga antes de cortar.", "Ten %d piezas de repuesto a mano.", "Mide otra vez: %d milímetros se notan al final.", "Con %s el segundo intento casi siempre sale mejor."},
			titles:    []string{"Ponle a esta conversación un título de cinco palabras como máximo.", "Genera un título corto para la siguiente conversación. Responde solo con el título."},
			tags:      []string{"Da de una a tres etiquetas (tags) para la siguiente conversación, en JSON."},
			suggest:   []string{"Sugiere tres preguntas de seguimiento que el usuario podría hacer, en JSON."},
			compact:   []string{"Se acaba el espacio. Resume toda esta conversación para que otro asistente pueda seguir solo con tu resumen.", "Escribe un resumen detallado de nuestra conversación hasta ahora: objetivo, acuerdos, archivos y siguiente paso."},
			summaries: []string{"Objetivo: %s. Hasta ahora hay %d puntos resueltos."},
			resume:    []string{"Resumen de la conversación anterior:\n\n"},
			carryOn:   []string{"\n\nSigue donde lo dejamos.", ""},
		},
		{
			name:      "Polish",
			topics:    []string{"latawiec skrzynkowy", "pszczoły zimą", "kajak z cedru", "drabinka sznurowa"},
			openers:   []string{"Od czego zacząć, jeśli chodzi o temat: %s?", "Co najczęściej się nie udaje, gdy w grę wchodzi %s?"},
			follows:   []string{"A jeśli zostało tylko %d dni?", "Czy da się to zrobić za mniej niż %d euro?"},
			sentences: []string{"Temat %s wymaga suchej pogody i około %d minut.", "Zaznacz %d miejsc, które niosą ciężar.", "Miej pod ręką %d zapasowych części.", "Zmierz jeszcze raz: %d milimetrów widać na końcu."},
			titles:    []string{"Nadaj tej rozmowie tytuł, najwyżej pięć słów."},
			tags:      []string{"Podaj od jednego do trzech tagów dla tej rozmowy jako JSON."},
			suggest:   []string{"Zaproponuj trzy kolejne pytania, które użytkownik mógłby zadać, jako JSON."},
			compact:   []string{"Kończy się miejsce. Napisz szczegółowe podsumowanie całej tej rozmowy, aby inny asystent mógł ją kontynuować."},
			summaries: []string{"Cel: %s. Dotąd ustalono %d punktów."},
			resume:    []string{"Podsumowanie wcześniejszej rozmowy:\n\n"},
			carryOn:   []string{"\n\nKontynuuj od miejsca, w którym skończyliśmy.", ""},
		},
		{
			name:      "Russian",
			topics:    []string{"коробчатый змей", "пчёлы зимой", "каноэ из кедра", "верёвочная лестница"},
			openers:   []string{"С какого конца взяться за тему «%s»?", "Что чаще всего не выходит, если речь о теме «%s»?"},
			follows:   []string{"А если осталось %d дней?", "Можно ли уложиться в %d евро?"},
			sentences: []string{"Тема «%s» любит сухую погоду и примерно %d минут.", "Отметьте %d мест, на которые ляжет вес.", "Держите под рукой %d запасных деталей.", "Измерьте ещё раз: %d миллиметров будет видно."},
			titles:    []string{"Придумай заголовок для этого разговора, не больше пяти слов."},
			tags:      []string{"Назови от одного до трёх тегов для этого разговора в виде JSON."},
			suggest:   []string{"Предложи три уточняющих вопроса, которые пользователь может задать дальше, в виде JSON."},
			compact:   []string{"Место заканчивается. Напиши подробное резюме всего этого разговора, чтобы другой помощник мог продолжить только по нему."},
			summaries: []string{"Цель: %s. Пока решено пунктов: %d."},
			resume:    []string{"Краткое содержание предыдущего разговора:\n\n"},
			carryOn:   []string{"\n\nПродолжай с того места, где мы остановились.", ""},
		},
		{
			name:      "Japanese",
			topics:    []string{"角凧", "冬のミツバチ", "杉のカヌー", "縄ばしご"},
			openers:   []string{"%sは、どこから手をつければいいですか？", "%sでいちばん失敗しやすいのは何ですか？"},
			follows:   []string{"あと%d日しかない場合は？", "%dユーロ以内でできますか？"},
			sentences: []string{"%sには乾いた天気と%d分ほどが必要です。", "荷重のかかる%dか所に印をつけましょう。", "予備を%d個、手元に置いてください。", "もう一度測ること。%dミリの差は最後に出ます。"},
			titles:    []string{"この会話に五語以内のタイトルを付けてください。"},
			tags:      []string{"この会話に合うタグを一つから三つ、JSONで挙げてください。"},
			suggest:   []string{"ユーザーが次に聞きそうなフォローアップの質問を三つ、JSONで提案してください。"},
			compact:   []string{"容量が足りません。別のアシスタントが続けられるように、ここまでの会話全体を詳しく要約してください。"},
			summaries: []string{"目的：%s。決まったことは%d件。"},
			resume:    []string{"これまでの会話の要約：\n\n"},
			carryOn:   []string{"\n\n続きから始めてください。", ""},
		},
		{
			name:      "Chinese",
			topics:    []string{"盒式风筝", "冬天的蜜蜂", "雪松独木舟", "绳梯"},
			openers:   []string{"%s该怎么入手？", "做%s最容易出什么问题？"},
			follows:   []string{"如果只剩%d天呢？", "%d欧元以内做得到吗？"},
			sentences: []string{"%s需要干燥的天气，大约%d分钟。", "先标出承重的%d个位置。", "手边准备%d个备用件。", "再量一次，%d毫米最后会看得出来。"},
			titles:    []string{"请为这段对话起一个标题，不超过五个词。"},
			tags:      []string{"请为下面的对话列出一到三个标签，用JSON。"},
			suggest:   []string{"请给出用户接下来可能会问的三个后续问题，用JSON。"},
			compact:   []string{"空间快用完了。请详细总结到目前为止的整个对话，让另一个助手可以接着做。"},
			summaries: []string{"目标：%s。目前已确定%d点。"},
			resume:    []string{"此前对话的摘要：\n\n"},
			carryOn:   []string{"\n\n请从中断的地方继续。", ""},
		},
	}
}

func pick[T any](r *rand.Rand, of []T) T { //nolint:ireturn // it is the caller's own type
	return of[r.IntN(len(of))]
}

// fill puts a topic and numbers into a template.
func fill(r *rand.Rand, template, topic string) string {
	var out strings.Builder
	for {
		i := strings.IndexByte(template, '%')
		if i < 0 || i+1 == len(template) {
			out.WriteString(template)
			return out.String()
		}
		out.WriteString(template[:i])
		switch template[i+1] {
		case 's':
			out.WriteString(topic)
		case 'd':
			fmt.Fprint(&out, 2+r.IntN(988))
		default:
			out.WriteString(template[i : i+2])
		}
		template = template[i+2:]
	}
}

// paragraph is an answer of some sentences.
func (l *language) paragraph(r *rand.Rand, topic string) string {
	n := 2 + r.IntN(4)
	out := make([]string, n)
	for i := range out {
		out[i] = fill(r, pick(r, l.sentences), topic)
	}
	text := strings.Join(out, " ")
	if r.IntN(3) == 0 {
		text += "\n\n- " + fill(r, pick(r, l.sentences), topic) + "\n- " + fill(r, pick(r, l.sentences), topic)
	}
	return text
}

// What programs are about.
func codeNouns() []string {
	return []string{"kiln", "harbour", "lantern", "orchard", "compass", "weaver", "granary", "beacon", "saddle", "pigment"}
}

func codeVerbs() []string {
	return []string{"dock", "fire", "graft", "weigh", "align", "spool", "sift", "temper"}
}

func codeFile(r *rand.Rand) string {
	n, v := pick(r, codeNouns()), pick(r, codeVerbs())
	return pick(r, []string{"pkg/" + n + "/" + v + ".go", "lib/" + n + "/" + v + ".rb", "app/" + n + "s/" + v + ".kt", "ui/" + n + "/" + v + ".vue", "core/" + v + "_" + n + ".zig"})
}

func codeName(r *rand.Rand) string { return pick(r, codeVerbs()) + pick(r, codeNouns()) }

// chore is what a person asks of a coding agent.
func chore(r *rand.Rand) string {
	return fmt.Sprintf(pick(r, []string{
		"Make %s in %s refuse a %s that is older than %d hours.",
		"%s in %s panics when the %s list is empty, around line %d. Repair it.",
		"Rename %s to something clearer everywhere, beginning with %s; mind the %s tests (%d of them).",
		"Speed up %s (%s): a %s with %d entries takes far too long.",
	}), codeName(r), codeFile(r), pick(r, codeNouns()), 3+r.IntN(900))
}

// errand is the prompt of a sub-agent.
func errand(r *rand.Rand) string {
	return fmt.Sprintf(pick(r, []string{
		"Look through the repository for every place where %s is used. Give me file and line of each, nothing else. Start at %s and stop after %d hits or at the first %s.",
		"Read %[2]s and the files it includes, then tell me in a few sentences how %[1]s treats an empty %[4]s; check at least %[3]d call sites.",
		"Work out which tests cover %s. Begin with %s, run them %d times and report those that are not stable or touch a %s.",
	}), codeName(r), codeFile(r), 3+r.IntN(400), pick(r, codeNouns()))
}

// output is what a tool gives.
func output(r *rand.Rand) string {
	switch r.IntN(4) {
	case 0:
		return fmt.Sprintf("%s:%d: %s(%s)\n%s:%d: %s(nil)", codeFile(r), r.IntN(900), codeName(r), pick(r, codeNouns()), codeFile(r), r.IntN(900), codeName(r))
	case 1:
		return fmt.Sprintf("passed %d, skipped %d\nslowest: %s %d ms", r.IntN(300), r.IntN(9), codeName(r), r.IntN(5000))
	case 2:
		return fmt.Sprintf("func %s(in []%s) int {\n\treturn len(in) * %d\n}", codeName(r), pick(r, codeNouns()), r.IntN(99))
	}
	return fmt.Sprintf("exit status %d", r.IntN(3))
}

func hexText(r *rand.Rand, n int) string {
	const digits = "0123456789abcdef"
	out := make([]byte, n)
	for i := range out {
		out[i] = digits[r.IntN(16)]
	}
	return string(out)
}

func mixedText(r *rand.Rand, n int) string {
	const digits = "0123456789ABCDEFGHJKMNPQRSTVWXYZabcdefghijkmnopqrstuvwxyz"
	out := make([]byte, n)
	for i := range out {
		out[i] = digits[r.IntN(len(digits))]
	}
	out[n/2], out[n/3], out[1] = '7', '3', 'k'
	return string(out)
}

func uuid(r *rand.Rand) string {
	return fmt.Sprintf("%s-%s-4%s-9%s-%s", hexText(r, 8), hexText(r, 4), hexText(r, 3), hexText(r, 3), hexText(r, 12))
}

// uuid7 is one that begins with a time.
func uuid7(r *rand.Rand) string {
	return fmt.Sprintf("019a%s-%s-7%s-8%s-%s", hexText(r, 4), hexText(r, 4), hexText(r, 3), hexText(r, 3), hexText(r, 12))
}
