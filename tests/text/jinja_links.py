"""Expressions with urlize."""

WORDS = ("http://example.com https://example.com/a?b=c#d www.example.org example.com example.xyz a.com ex.COM/path foo.bar.info:80/x foo.mil:123456 "
         "http://localhost http://a http://127.0.0.1:8080/x http://1.2.3 http://1.2.3.4.5 http://[::1]/x http://[2001:db8:0:0:0:0:0:1]:80 http://[12345::] "
         "http://[a:b] HTTP://EXAMPLE.COM https://xn--bcher-kva.xn--abc http://xn--a www.x www. http:// (http://example.com) <http://example.com/a_(b)> "
         "http://example.com/a_(b)). http://example.com., (see http://example.com/x), me@example.com mailto:me@example.com mailto:x @a@b a@b a@b.c: a.b@c-d.e.f "
         "www.a@b.com ftp://x.com tel:123 tel: x&y.com \\'http://example.com\\' http://exämple.com http://a..com -.com a%20b.com http://example.com:x "
         "http://u:p@example.com [http://example.com] http://example.com/&lt;x&gt; (a@b.com) git+ssh://host http://[1:2:3:4:5:6:7:8:9] http://[::ffff:1.2.3.4] a@b._ a@_.b a@-b.c "
         "http://example.com/(((a))) ((http://example.com/((a)))))..").split()

LINKS = [
    *(f"'{word}' | urlize" for word in WORDS),
    *("'" + " ".join(WORDS[:30]) + "' | urlize" + arguments for arguments in (
        "", "(10)", "(0)", "(trim_url_limit=12, nofollow=true)", "(none, true, '_blank')", "(target='a\"b')", "(rel='x  noopener me')", "(5, false, '', 'a')")),
    "'a\\n\\n http://example.com \\t(www.a.org)\\n' | urlize", "5 | urlize", "none | urlize", "missing | urlize", "'' | urlize",
    "'tel:1 git+ssh://x tel: mailto:a' | urlize(extra_schemes=['tel:', 'git+ssh://'])", "'tel:1' | urlize(extra_schemes=['tel:', 'te:', 'tel:'])",
]

LINK_FAILURES = ["{{ " + one + " }}" for one in (
    "'abc.com' | urlize('x')", "'x' | urlize(extra_schemes=['a'])", "'x' | urlize(extra_schemes=['a:'])", "'x' | urlize(extra_schemes=['ab:///'])",
    "'x' | urlize(extra_schemes=5)", "'x' | urlize(1, 2, 3, 4, [], 6)")]
