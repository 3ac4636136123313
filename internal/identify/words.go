package identify

import (
	"bytes"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"mooring/internal/wire"
)

// language is what people call a summary, a title and a conversation, in the languages that programs are written for. They are words of the
// languages, not phrases of programs: with what a request looks like they tell what it is for. The beginnings of words are enough.
type language struct {
	summary, naming, title, further, form, goingOn, user, conversation, talk, here vocabulary
}

func newLanguage() *language {
	l := &language{}
	l.summary = wordsOf(
		"summar", "sum up", "sum it up", "compact", "condens", "hand-over", "handover", "hand over", "recap", "digest of", "distil", "zusammenfass", "fasse ", "kurzfassung",
		"übergabe", "verdicht", "résum", "resumen", "resumir", "resumi", "resumo", "resuma", "resume la", "resume esta", "resume toda", "resume el", "resume todo", "síntese", "sintetiz", "riassun", "riepilog", "samenvat", "podsum", "streszcz", "особ", "резюм", "итог", "сводк", "кратко излож",
		"总结", "總結", "摘要", "概括", "压缩", "壓縮", "归纳", "要約", "まとめ", "引き継ぎ", "요약", "özetle", "özet", "sammanfatt", "oppsummer", "tóm tắt",
	)
	l.naming = wordsOf("title", "name") // without one of them nothing has the shape of an order for a title
	l.title = wordsOf(
		"title", "headline", "follow-up", "could ask next", "ask next", "keywords", "folgefrage", "anschlussfrage", "フォローアップ", "kolejne pytania", "rückfrage", "nächste frage", "stichw", "stichpunkt", "tags", "tagi", "tagów", "étiquette", "questions de suivi", "etiqueta", "preguntas de seguimiento", "perguntas de acompanhamento", "domande success", "pytania", "pytań", "уточняющ", "следующ вопрос", "тег", "ключевые слова", "标签", "追问", "后续问题", "タグ", "次の質問", "태그", "後續", "name this", "name the", "label for", "name for", "tags", "emoji", "follow-up question", "titel", "überschrift", "benenne", "schlagw", "titre", "intitul", "nomme",
		"título", "titula", "titolo", "intitola", "tytuł", "заголов", "назван", "назови", "标题", "標題", "题目", "命名", "取名", "タイトル", "題名", "見出し", "제목", "başlık", "rubrik", "tiêu đề",
	)
	l.goingOn = wordsOf(
		"continu", "resume", "carry on", "take over", "takes over", "pick up", "picks up", "another assistant", "someone who has not", "hand-over", "handover", "hand over", "weiterarbeit", "weitermach", "fortsetz", "fortführ",
		"übernehm", "übernimmt", "anderer assistent", "poursuiv", "reprend", "autre assistant", "seguir", "retomar", "otro asistente", "outro assistente", "riprend", "prosegu", "verder", "kontynu", "inny asystent", "продолж", "другой ассистент", "继续", "繼續",
		"next step", "comes next", "pending", "detailed summary", "do not call any tool", "do not use any tool", "nächster schritt", "nächste schritt", "prochaine étape", "siguiente paso", "próximo passo", "prossimo passo", "volgende stap", "następny krok", "następne kroki", "следующий шаг", "下一步", "次のステップ", "다음 단계",
		"open points", "offene punkte", "go on from", "接手", "接着", "続け", "引き継", "계속", "이어", "devam", "fortsätt", "fortsett", "tiếp tục",
	)
	l.user = wordsOf(
		"the user", "der nutzer", "nutzer", "benutzer", "anwender", "l'utilisateur", "utilisateur", "el usuario", "usuario", "o usuário", "usuário", "utente", "gebruiker", "użytkownik", "пользовател", "用户", "用戶", "ユーザー", "사용자", "kullanıcı", "användar", "bruker", "người dùng",
	)
	told := []string{
		"gespräch", "unterhaltung", "bisher", "conversación", "conversa", "conversazione", "hasta ahora", "até agora", "finora", "gesprek", "rozmow", "диалог", "разговор", "бесед",
		"до сих пор", "对话", "對話", "会话", "會話", "到目前为止", "会話", "これまで", "やり取り", "대화", "지금까지", "konuşma", "sohbet", "konversatio", "cuộc trò chuyện", "échange",
	}
	l.here = wordsOf(append(told,
		"this conversation", "our conversation", "whole conversation", "entire conversation", "conversation so far", "conversation below", "conversation above", "following conversation",
		"above conversation", "cette conversation", "conversation suivante", "this chat", "our chat", "chat below", "chat above", "following chat", "chat history", "conversation history",
		"this session", "our session", "this discussion", "our discussion", "messages above",
	)...)
	l.talk = wordsOf(append(told,
		"conversation", "so far", "everything done", "work done", "messages above", "this chat", "our chat", "whole chat", "chat history", "this session", "our session", "whole session",
		"this discussion", "our discussion", "our exchange", "this thread", "transcript",
	)...)
	l.further = wordsOf(
		"follow-up", "could ask", "may ask", "might ask", "ask next", "folgefrage", "anschlussfrage", "rückfrage", "nächste frage", "フォローアップ", "次の質問", "次に聞", "kolejne pytania", "pytania", "pytań",
		"questions de suivi", "preguntas de seguimiento", "perguntas de acompanhamento", "domande success", "уточняющ", "следующ вопрос", "追问", "后续问题", "後續",
	)
	l.form = wordsOf(
		"json", "only", "alone", "nothing else", "no more than", "at most", "up to", "words", "short", "concise", "brief", "[", "{", "wörter", "nur", "höchstens", "maximal", "kurz",
		"mots", "uniquement", "seulement", "court", "palabras", "solo", "sólo", "corto", "palavras", "apenas", "curto", "parole", "breve", "woorden", "kort", "słów", "tylko", "krótk",
		"слов", "только", "корот", "以内", "だけ", "のみ", "短い", "不超过", "个字", "個字", "个词", "只", "단어", "짧", "kelime", "ord", "từ",
	)
	l.conversation = wordsOf(
		"conversation", "chat", "dialog", "discussion", "session", "thread", "transcript", "context", "so far", "history", "messages above", "exchange", "everything done", "work done", "gespräch", "unterhaltung", "verlauf",
		"sitzung", "bisher", "kontext", "échange", "contexte", "conversación", "conversa", "conversazione", "hasta ahora", "até agora", "finora", "gesprek", "rozmow", "диалог", "разговор", "бесед", "контекст", "до сих пор",
		"对话", "對話", "会话", "會話", "聊天", "上下文", "到目前为止", "会話", "これまで", "やり取り", "대화", "지금까지", "konuşma", "sohbet", "konversatio", "cuộc trò chuyện", "messag", "above",
	)
	return l
}

// longestPrompt is from how many bytes on a text is no short request for a name any more.
const longestPrompt = 4 << 10

// asksSummary says that a text asks for a summary of a conversation.
func (l *language) asksSummary(text []byte) bool {
	return l.summary.in(text) && l.conversation.in(text)
}

// vocabulary are beginnings of words in lower case, by their first bytes.
type vocabulary [256][]string

func wordsOf(list ...string) (v vocabulary) {
	for _, w := range list {
		v[w[0]] = append(v[w[0]], w)
	}
	return v
}

// in says whether one of the words begins somewhere in a text.
func (v *vocabulary) in(text []byte) bool {
	lower := strings.ToLower(string(text[:min(len(text), 2*longestPrompt)]))
	inside := false // a letter stands before
	for i := 0; i < len(lower); {
		r, size := rune(lower[i]), 1
		if r >= utf8.RuneSelf {
			r, size = utf8.DecodeRuneInString(lower[i:])
		}
		if list := v[lower[i]]; len(list) > 0 && (!inside || unspaced(r)) && slices.ContainsFunc(list, func(w string) bool { return strings.HasPrefix(lower[i:], w) }) {
			return true
		}
		inside = r >= 'a' && r <= 'z' || r >= utf8.RuneSelf && unicode.IsLetter(r) && !unspaced(r)
		i += size
	}
	return false
}

// unspaced says that a word may begin within what stands between two spaces: Korean joins words, too.
func unspaced(r rune) bool { return wire.Unspaced(r) || unicode.Is(unicode.Hangul, r) }

// orders are the first paragraph and the last line of a text, as far as they are short: that is where what is to be done stands beside
// what it is to be done with.
func orders(text []byte) []byte {
	first, rest, _ := bytes.Cut(text, []byte("\n\n"))
	out := slices.Clone(first[:min(len(first), longestOrder)])
	if last := rest[bytes.LastIndexByte(rest, '\n')+1:]; len(last) <= longestOrder {
		out = append(append(out, '\n'), last...)
	}
	return out
}

const longestOrder = 400
