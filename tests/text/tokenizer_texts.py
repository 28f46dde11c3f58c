"""Texts on which tokenizers go wrong, and a little of everything to make vocabularies of. All written for this."""

PROSE = """The old lighthouse keeper counted 12 ships, then 345 gulls, and at last 1,000,000 stars.
"It's late," she said; "they'll come, won't they?" Nobody'd answer. WE'RE HERE, I'M SURE.
Der Förster größte früh; où est la forêt? El niño comió piñas. Zażółć gęślą jaźń.
Старый маяк стоял у моря. Ночью МОРЕ светилось. Ο φάρος κοιτούσε τη θάλασσα.
灯台は海を見ていた。古い灯塔看着大海。등대는 바다를 보았다. המגדלור עמד ליד הים. كانت المنارة بجانب البحر.
समुद्र के पास एक पुराना दीपस्तंभ था। ประภาคารเก่าอยู่ริมทะเล
def count(n):\n    for i in range(n):\n        print(i, end="\\n")\n\treturn n ** 2 + 0x1F
HTTPServer iPhone camelCase snake_case kebab-case __init__ x=y+z; //comment /* block */ https://example.org/a/b?c=d
"""

TEXTS = [
    "", " ", "  ", "   ", "\t", "\n", "\n\n", "\n\n\n", "\t\n", "\r\n", "\r\n\r\n", " \r\n \r\n x", "\r", "x\r",
    "a", " a", "  a", "   a", "a ", "a  ", "a\n", "a \n", "a\n ", " \n \n a", "\n a", "\n  a", "a\n\n b", " \t a",
    "Hello World", " Hello World", "Hello World!", " Hello, World! ", "hello   world", "hello\tworld\t\tx",
    "It's they'll we've I'm you're he'd won't", "IT'S THEY'LL WE'VE I'M YOU'RE HE'D WON'T", "'s 't 're 've 'm 'll 'd",
    "'S 'T 'Re 'vE 'M 'Ll 'D", "x'sy x'lly ''s '' ' x'", "don\u2019t it\u2019s",
    "1", "12", "123", "1234", "12345", "123456", "1234567", "12345678901234567890", "1 22 333 4444 55555", "3.14159",
    "1,234,567.89", "x1y22z333", "²³½¾", "٣٤٥ ४५६ ５６７", "Ⅳ ⅷ ①②③", "1a2b3c", "0x1F 1e-7 10_000",
    "camelCase HTTPServer iPhone XMLHttpRequest ABCdef abcDEF aBcDeF", "Ünïcödé ÀÉÎ àéî ÀéÎ",
    "ПриветМир МИР мир ΑΒΓαβγ", "ǅungla ǈ ʰʷ ªº", "snake_case kebab-case a/b/c //x //\n/// \n/ ?/\r\n/",
    "Стар\u044bй маяк", "Ο φάρος κοιτούσε", "灯台は海を見ていた", "古い灯塔看着大海。", "등대는 바다를 보았다",
    "ひらがなカタカナ漢字ー々〆", "漢字kanji漢字123漢字", "中文，标点！“引号”（括号）……", "המגדלור עמד ליד הים", "كانت المنارة بجانب البحر",
    "समुद्र के पास एक पुराना दीपस्तंभ", "ประภาคารเก่าอยู่ริมทะเล", "Nhìn thấy biển từ hải đăng",
    "e\u0301 a\u0308o\u0302 n\u0303", "\u0301\u0302 x\u0301y", "Z\u0351\u036b\u0343a\u0321l\u034eg\u0321o", "한글 \u1112\u1161\u11ab",
    "😀", "😀😀 😀", "👩‍👩‍👧‍👦 family", "🏳️‍🌈 🇩🇪🇫🇷 👍🏽", "☃️ ☺ ✈", "a😀b", "€ £ ¥ ¢ © ® ™ § ¶",
    "!?.,;:", "... --- ***", "a.b,c;d", "(x)[y]{z}<w>", "\"quoted\" 'single' `code`", "!!!\n\n???\r\n", " !? ,", "$100 #1 @me 50%",
    "^~|+=<>", "a+b=c", "\\n \\t \\", "«guillemets» „low“ ‹x›", "–—― …",
    "\u00a0x\u00a0\u00a0y", "\u2003em\u2009thin\u3000wide", "\u200bzero\u200dwidth\u200c", "a\u2028b\u2029c", "\u00adsoft\u00adhyphen",
    "\ue000\uf8ff private", "\U000f0000\U0010fffd", "\x01\x02\x1b[31m\x7f", "\ufffd replaced \ufffc", "\ufb01 \ufb02 \u1e9e \u0130 \u0131 \u017f \u212a",
    "①\u2460㍿ｱｲｳ ＡＢＣ", "\ufdfa", "\u2581x\u2581\u2581y", "##x # #y##", "[UNK] [CLS] <unk>", "<s> </s> <0x0A> <|x|>", "▁a ▁▁",
    "def f(x):\n    if x:\n        return 1\n\n\n    return 2\n", "for (i = 0; i < n; ++i) { a[i] += b[i]; } // loop\n",
    "https://example.org/a/b?c=d&e=f#g", "me@example.org", "a" * 40, "ab" * 60, " " * 33 + "x", " " * 65, "\n" * 20, "\n " * 20 + "x",
    "=" * 50, "7" * 50, "灯" * 40, "é" * 40, "e\u0301" * 30, "word " * 20, "a" * 99 + " " + "a" * 100 + " " + "a" * 101, "😀" * 20,
    "'" * 10, ".\n" * 10, "A" * 20 + "b" + "A" * 20, "x" + "\r\n" * 8 + "y", "mixed 漢字 и слова with 123 and emoji 🦙!\n\tDone.",
] + PROSE.splitlines(keepends=True)

# Where a user-defined or a control token stands in the text.
MARKED = ["<tool>", "a<tool>b", "a <tool> b", "<tool><tool>", " <tool> <tool> ", "<ctrl>", "a<ctrl>b", "<ctrl> a", "x<tool><ctrl>y", "<tool", "<<tool>>"]
