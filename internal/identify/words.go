package identify

import (
	"bytes"
	"strings"
)

// What people call a summary, a title and a conversation, in the languages that programs are written for. They are words of the
// languages, not phrases of programs: with what a request looks like they tell what it is for. The beginnings of words are enough.
var (
	summaryWords = []string{
		"summar", "compact", "condens", "hand-over", "handover", "hand over", "recap", "digest of", "distil", "zusammenfass", "fasse ", "kurzfassung",
		"übergabe", "verdicht", "résum", "resum", "síntese", "sintetiz", "riassun", "riepilog", "samenvat", "podsum", "streszcz", "особ", "резюм", "итог", "сводк", "кратко излож",
		"总结", "總結", "摘要", "概括", "压缩", "壓縮", "归纳", "要約", "まとめ", "引き継ぎ", "요약", "özetle", "özet", "sammanfatt", "oppsummer", "tóm tắt",
	}
	titleWords = []string{
		"title", "headline", "name this", "name the", "label for", "name for", "tags", "emoji", "follow-up question", "titel", "überschrift", "benenne", "schlagw", "titre", "intitul", "nomme",
		"título", "titula", "titolo", "intitola", "tytuł", "заголов", "назван", "назови", "标题", "標題", "题目", "命名", "取名", "タイトル", "題名", "見出し", "제목", "başlık", "rubrik", "tiêu đề",
	}
	conversationWords = []string{
		"conversation", "chat", "dialog", "discussion", "session", "thread", "transcript", "context", "so far", "history", "messages above", "exchange", "everything done", "work done", "gespräch", "unterhaltung", "verlauf",
		"sitzung", "bisher", "kontext", "échange", "contexte", "conversación", "conversa", "conversazione", "hasta ahora", "até agora", "finora", "gesprek", "rozmow", "диалог", "разговор", "бесед", "контекст", "до сих пор",
		"对话", "對話", "会话", "會話", "聊天", "上下文", "到目前为止", "会話", "これまで", "やり取り", "대화", "지금까지", "konuşma", "sohbet", "konversation", "cuộc trò chuyện", "messag", "above",
	}
)

// longestPrompt is from how many bytes on a text is no short request for a name any more.
const longestPrompt = 4 << 10

// speaksOfSummary says that a text asks for a summary of a conversation.
func speaksOfSummary(text []byte) bool {
	return saysSummary(text) && says(text, conversationWords)
}

func saysSummary(text []byte) bool { return says(text, summaryWords) }

// speaksOfTitle says that a text asks for a name.
func speaksOfTitle(text []byte) bool { return says(text, titleWords) }

func says(text []byte, any []string) bool {
	lower := strings.ToLower(string(bytes.ToValidUTF8(text[:min(len(text), 2*longestPrompt)], nil)))
	for _, w := range any {
		if strings.Contains(lower, w) {
			return true
		}
	}
	return false
}
