"""Expressions, each rendered as {{ it }} with the same variables."""

VARIABLES = {
    "s": "Hello, Wörld 🦙!", "empty": "", "n": 7, "x": 2.5, "t": True, "nothing": None,
    "l": [3, 1, 2], "words": ["b", "A", "c"], "d": {"b": 1, "a": [1, {"k": "v"}], "items": 5},
    "users": [{"name": "Ann", "age": 31, "tags": ["x"]}, {"name": "bob", "age": 25, "tags": []}],
    "padded": "  a b \t c\n",
}
EXPRESSIONS = r"""
1 + 2 * 3
(1 + 2) * 3
7 // 2
-7 // 2
7 % 3
-7 % 3
7 % -3
2 ** 10
2 ** -1
2 ** 3 ** 2
-2 ** 2
7 / 2
6 / 2
1e3
1_000
0x1F
0b101
0o17
1.5e-7
1e16
123456789012345680.0
0.1 + 0.2
7.5 // 2
-7.5 % 2
x * 2
True + 1
1 == 1.0
1 == True
"a" < "b"
1 < 2 < 3
1 < 3 < 2
not 1 == 2
not t
1 and 0
0 or "x"
"" or "fallback"
n > 5 and x < 3
"ell" in s
"z" not in s
2 in l
"b" in d
"v" in d.a[1].values()
s ~ n ~ nothing ~ t
"a" "b" 'c'
"tab\tnew\nquote\"end\\ \x41 \u00e9 \U0001F999 \101 \q"
s | length
s[0]
s[-1]
s[7:12]
s[::-1]
s[::2]
s[-3:]
s[100:]
l[0]
l[-1]
l[5] is defined
l[1:]
l[::-1]
l[5:1:-1]
l[:-1]
d.b
d["b"]
d.missing is defined
d.a.1.k
d.items() | list
d.keys() | list
d.values() | list
d["items"]
d.get("b")
d.get("zz")
d.get("zz", 4)
missing
missing is defined
missing is undefined
nothing is none
nothing
t
l
d
[]
{}
()
(1,)
(1, "a", None, true)
[1, 2.0, "it's", 'say "x"', "both ' and \"", "\n\t\x01é"]
{"a": 1, 2: [true, false, none]}
users | map(attribute="name") | join(", ")
users | map(attribute="name") | map("upper") | list
users | selectattr("age", "gt", 30) | map(attribute="name") | list
users | selectattr("tags") | list | length
users | rejectattr("tags") | map(attribute="name") | first
l | select("odd") | list
l | reject("equalto", 1) | list
words | sort | join
words | sort(case_sensitive=true) | join
users | sort(attribute="age") | map(attribute="name") | join
l | sort(reverse=true)
l | min
l | max
l | sum
users | sum(attribute="age")
l | reverse | list
"abc" | reverse
[1, 1, 2, "a", "A"] | unique | list
d | dictsort | first
l | join("-")
l | first
l | last
[] | first
"" | last
s | upper
s | lower
"hello wOrld" | capitalize
"hello wOrld foo-bar (baz) it's" | title
"hello wOrld it's" .title()
padded | trim
"xxaxx" | trim("x")
padded.strip()
padded.lstrip()
padded.rstrip()
"xyaxy".strip("xy")
padded.split()
"a,b,,c".split(",")
"a,b,,c".split(",", 1)
"a,b,,c".rsplit(",", 1)
" a b  c ".split(None, 1)
" a b  c ".rsplit(None, 1)
"a</think>b</think>c".split("</think>")[-1].lstrip("\n")
"a\nb\r\nc".splitlines()
"a\nb".splitlines(true)
s.startswith("Hello")
s.startswith(("x", "He"))
s.endswith("!")
s.replace("l", "L")
s.replace("l", "L", 1)
"aaa".replace("", "-")
"aaa" | replace("a", "b", 2)
s.find("W")
s.find("zzz")
"abcabc".rfind("c")
"banana".count("an")
"-".join(["a", "b"])
"123".isdigit()
"prefix-x".removeprefix("prefix-")
"x.py".removesuffix(".py")
missing | default("d")
empty | default("d")
empty | default("d", true)
nothing | default("d")
nothing | d("e", true)
n | string ~ "!"
"12" | int
" 12 " | int
"12.7" | int
"zz" | int
"zz" | int(3)
"ff" | int(0, 16)
2.9 | int
-2.9 | int
"2.5" | float
3 | float
-3 | abs
2.5 | round
3.5 | round
2.675 | round(2)
2.45 | round(1, "ceil")
42.55 | round(1, "floor")
3 | round
[1, 2, 3] | length
d | length
"<a href='x'>&\"" | escape
"<b>" | safe
"a\nb\n\nc" | indent
"a\nb\n\nc" | indent(2, true)
"a\nb\n\nc" | indent(width=2, blank=true)
d | tojson
d | tojson(indent=2)
users | tojson
s | tojson
s | tojson(ensure_ascii=true)
"q\"b\\n\n\t\x01</script>'" | tojson
{"z": 1, "a": 2} | tojson(sort_keys=true)
{"z": 1, "a": 2} | tojson(separators=(",", ":"))
[] | tojson(indent=2)
{1: none, "f": 1.0, "e": [], "o": {}} | tojson(indent=4)
[1.5, 1e100, -0.0, true] | tojson
"a" if t else "b"
"a" if not t else "b"
"a" if not t
1 if empty else 2 if nothing else 3
n is number
t is number
s is string
l is sequence
s is sequence
d is mapping
d is iterable
l is iterable
n is iterable
t is boolean
n is boolean
n is integer
x is float
t is true
t is false
n is odd
n is even
n is divisibleby 7
n is not none
n is eq 7
n is ge(7)
2 is in l
"a" is lower
"A" is upper
n is defined and n > 3
n is not defined or n
range(3) | list
range(1, 10, 3) | list
range(3, 0, -1) | list
[1] + [2]
(1,) + (2,)
"ab" * 3
[0] * 3
"ab" + "cd"
[1, 2] == [1, 2]
[1, 2] == (1, 2)
{"a": 1} == {"a": 1.0}
[1, 2] < [1, 3]
d | items | list
dict(a=1, b="x")
[[1, 2], [3]] | map("length") | list
[[1, 2], [3]] | map("first") | sum
l | map("string") | join(",")
(1, 2), 3
1, 2
s.upper().lower()
-n
+n
--n
- x | abs
"%" ~ 5
"ß".upper() | length > 0
users[0].name[0]
users[0]["tags"][0]
n | default(1) + 1
"a" ~ "b" | upper
1 + 2 ~ 3
not missing
missing == missing
missing | length
missing | list
missing | string
missing ~ "x"
0.0
100.0
1e22
1.0e-5
3.14159265358979
[none, true, 1.5]
s | list | length
"abc" | list
"a-b_c".split("-")[1]
"banana".find("a", 2)
"banana".find("a", 2, 3)
"banana".find("", 6)
"banana".find("", 7)
"banana".find("n", -3, -1)
"banana".find("a", none, 1)
"banana".rfind("a", 0, 3)
"banana".rfind("a", 9)
"banana".count("a", 2)
"banana".count("", 2, 4)
"banana".count("", 9)
"xay".startswith("a", 1)
"xay".startswith("", 3)
"xay".startswith("", 4)
"xay".startswith(("q", "a"), 1, 2)
"xay".endswith("a", 0, 2)
"xay".endswith("a", 0, -1)
"Wörld 🦙!".find("!", 3)
"Wörld 🦙!".startswith("🦙", 6, 7)
[1, 2, 1].index(1, 1)
[1, 2, 1].index(2, -2, 3)
"a b c".split(maxsplit=1)
"a,b,c".split(sep=",", maxsplit=1)
"x\ny".splitlines(keepends=true)
"voilà Ångström, état-ÎLE «été» x\xa0y\x85z" | title
"a\x0bb\x0cc\x1cd\x1de\x1ef\x1fg\x85h\u2028i\u2029j\r\nk\rl\n" .splitlines()
"a\r\n\r\nb\x85" .splitlines(true)
"١٢".isdigit()
"١٢".isdecimal()
"1²".isdigit()
"1²".isdecimal()
"½".isdigit()
"①2".isdigit()
"".isdigit()
5 | round(-1)
15 | round(-1)
25 | round(-1)
26 | round(-1)
-25 | round(-1)
-26 | round(-1)
12345 | round(-3)
9 | round(-1)
7 | round(-30)
15.0 | round(-1)
-25.5 | round(-1)
true | round
"a\n\nb" | indent
"a\n\nb\n" | indent(2)
"a\n\nb\n" | indent(2, true, true)
"a\r\nb\rc\x85d" | indent(2)
"" | indent(2, first=true)
"\n" | indent(2)
"\n" | indent(2, blank=true)
"a\nb" | indent(width="> ", first=true)
"0x1F" | int(base=16)
"1F" | int(0, 16)
"-0b11" | int(base=2)
"0x1F" | int(base=0)
"0x_1F" | int(base=16)
"0x1F" | int
"012" | int(7, base=0)
"00" | int(7, base=0)
"012" | int
"z" | int(base=36)
"12" | int(5, 99)
"1_000" | int
"1__0" | int(5)
"_1" | int(5)
"1_" | int(5)
"+-5" | int(9)
"- 5" | int(9)
" -5 " | int
"1_0.5" | int
"1_0.5e1" | float
".5" | float
"5." | float
"." | float(3)
"1e" | float(3)
"1e400" | float
"-1e400" | float
"1e-400" | float
"0e999" | float
"nan(1)" | float(3)
"-inf" | float
"+-5" | float(9)
1e400
-1e400
1e-400
0.0e999
123456789e999999999999999999999
1e400 > 1
"a\x7f\x80é\U0001F999" | tojson(ensure_ascii=true)
"a\x7f" | tojson
["a b", "c d"] | map("replace", " ", "-") | list
[["a", "b"], ["c"]] | map("map", "upper") | map("list") | list
[{"u": users}] | map("map", attribute="name") | list | length
users | map(attribute="zip", default="?") | list
users | map(attribute="name", default=none) | list
[1, 2] | select("in", [2]) | list
[1, 2] | select("in", seq=[2]) | list
6 is divisibleby(num=3)
"abc" | replace(old="b", new="x")
"abc" | trim(chars="c")
3.14159 | round(precision=2)
3.14159 | round(2, method="floor")
namespace({"a": 1}, a=2).a
dict({"a": 1}, a=2, b=3)
d.get("zz", 4)
strftime_now("%d %b %Y")
strftime_now("%Y-%m-%d %H:%M:%S.%f|%A %B %-d|%j %p %I %y %a|%z%Z|%%|é")
strftime_now("")
"%s and %r" % ("a", "b")
"%s" % s
"%d%%" % 5
"%5d|%-5d|%05d|%+d|% d|%x|%X|%#x|%o|%i" % (42, 42, 42, 42, 42, 255, 255, 255, 8, 3.9)
"%d" % -3.9
"%.2f|%8.3f|%-8.1f|%08.2f|%e|%g|%G" % (3.14159, 2.5, 2.25, -1.5, 12345.678, 0.00001, 1e20)
"%f|%.0f|%g|%g" % (1, 2.5, 100000, 1000000)
"%10s|%-10s|%.2s|%c" % ("é", "é", "éèà", "x")
"%(name)s is %(age)d" % users[0]
"%s" % [1, 2]
"%s" % (none,)
"%s %s" | format("a", 1)
"%(x)s" | format(x=5)
"{} {}".format("a", 1)
"{0}{1}{0} {{}} {k}".format("a", 1, k=none)
"abc".isalpha() ~ "ab1".isalpha() ~ "".isalpha() ~ "é".isalpha() ~ "漢".isalpha()
"ab1".isalnum() ~ "a b".isalnum() ~ "½".isalnum()
" \t\n".isspace() ~ "".isspace()
"ABC".isupper() ~ "aB".isupper() ~ "1".isupper() ~ "É1".isupper()
"abc".islower() ~ "aB".islower() ~ "1".islower()
"aBcÉé1".swapcase()
"ab".ljust(5) ~ "|" ~ "ab".rjust(5, "*") ~ "|" ~ "ab".center(5) ~ "|" ~ "abc".center(6, "-") ~ "|" ~ "abcd".ljust(2)
"5".zfill(3) ~ "-5".zfill(4) ~ "+".zfill(3) ~ "abc".zfill(2) ~ "-é".zfill(1)
"abcb".index("b") ~ "abcb".rindex("b") ~ "abcb".index("b", 2)
"a=b=c".partition("=")
"a=b=c".rpartition("=")
"abc".partition("=")
"abc".rpartition("=")
{"a": 1}.copy()
[1, 2, 3, 4, 5] | batch(2) | list
[1, 2, 3, 4, 5] | batch(2, "x") | list
[1, 2, 3, 4, 5] | batch(9) | list
[] | batch(2) | list
[1, 2, 3, 4, 5] | slice(3) | list
[1, 2, 3, 4, 5] | slice(3, "x") | list
[1, 2] | slice(4, 0) | list
"abc" | center(9) ~ "|"
"abcd" | center(9) ~ "|"
"abc" | center(8) ~ "|"
"hello big world" | truncate(9)
"hello big world" | truncate(9, true)
"hello big world" | truncate(9, false, "..", 0)
"hello big world" | truncate(11, leeway=4)
"hello big world" | truncate(11, leeway=3)
"hellobigworld" | truncate(9, end="")
"ééééé ééééé" | truncate(7, leeway=0)
"It's a_b c-d é 12" | wordcount
none is sameas none
true is sameas true
1 is sameas true
"upper" is filter
"nope" is filter
"odd" is test
"nope" is test
""".strip("\n").split("\n")
