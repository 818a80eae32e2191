# SPDX-License-Identifier: Apache-2.0
"""Cookies that readers read differently."""
from .classes import Class as _Class

TOKEN = rb"[0-9A-Za-z!#$%&'*+.^_`|~-]"


def line(data):
    return (f"`{data.decode('latin-1').encode('unicode_escape').decode()}`", data)


def Class(name, reason, *lines, data=rb"", **tests):
    return _Class(name, reason, *(line(each) for each in lines), data=data, argument="-", **tests)


ALL = b"; Max-Age=1; Domain=a; Path=/; SameSite=Lax; HttpOnly; Secure; Expires=Sun, 06 Nov 1994 08:49:37 GMT"


def date(text, *more):
    return [b"a=b; Expires=" + each for each in (text, *more)]


COOKIES = [
    Class("no name", "RFC 6265bis §5.6: the whole is the value of a cookie without a name", b"a", b"a; Path=/", b"\"a\"", b"=b",
          b" = b", b"secure", b"a; Max-Age", b"a; Path", b"a; Max-Age=1", b"a;;Max-Age",
          b"a; Expires=Sun, 06 Nov 1994 08:49:37 GMT", b"expires", b"a; Domain=a", b"a; Secure=x", b"=b; Max-Age=1", b"a b",
          b"path; Path=/a", b"a; Version=1", b"a; HttpOnly", b"a; Expires=x", b"version; a=b", data=rb"\A[^=;]*(;|\Z)|\A[ \t]*="),
    Class("name that is no token", "RFC 6265bis §5.6: any name, though a server shall send a token", b"a b=c", b"(a)=b", b"a@=b",
          b"a[]=b", b"a:b=c", b"a/b=c", b"\xc3\xa9=b", b"a\tb=c", b"\"a\"=b", b"a,b=c", b"a{b=c", b"a@=b; Path=/",
          b"a b=c; Path=/", b"a?b=c; Path=/a", b"a b=c" + ALL, b"a@=b" + ALL, b"\xc3\xa9=b" + ALL,
          data=rb"\A[ \t]*(?!%s+[ \t]*(=|\Z))" % TOKEN),
    Class("name with a dollar sign", "RFC 6265 has no `$` of RFC 2965", b"$a=b", b"$a=b; Path=/", b"$a=b; Unknown=1", b"$Path=b",
          b"$a=b; c=d; Path=/", b"$a=b" + ALL, data=rb"\$"),
    Class("name of an attribute", "RFC 6265bis §5.6: the first pair is the cookie, whatever its name", b"path=x", b"expires=x",
          b"path=x; Path=/", b"expires=x; Expires=x", b"path=/; Secure", b"expires=1; Max-Age=1", b"secure=x", b"version=1",
          data=rb"(?i)\A[ \t]*(path|expires|secure|version|domain|max-age|httponly|samesite|comment)[ \t]*="),
    Class("blank in a value, or around it", "RFC 6265bis §5.6: blanks within a value stay, blanks around it do not count",
          b"a=b c", b"a=b c; Path=/", b" a = b ", b"a=\tb", b"a=b\t", b"a= b; Path=/", b"a =b", b"a=b ; Path=/", b"a=b\tc",
          b"a = b; Secure", b"a=\tb\tc; Path=/", b"a=b c; Secure; HttpOnly", b"a=b Secure", b"a=b HttpOnly", b"a=b Path=/",
          b"a=b Domain=a", b"a=b Max-Age=1", b"a=b SameSite=Lax", b"a=b c; Expires", b"a=b c\xc3\xa9; Expires", b"a=b c" + ALL,
          b"a=b\tc" + ALL, b"a=\tb" + ALL, data=rb"\A[^;]*[ \t]"),
    Class("comma, backslash or brace in a value", "RFC 6265bis §5.6: any bytes but control characters", b"a=b,c", b"a=b\\c",
          b"a={b}", b"a=b,c; Path=/", b"a=b, c=d", b"a=b\\c; Path=/", b"a=b=c", b"a={b}; Secure", b"a=b,c=d; Path=/",
          b"a={b}; Path=/; HttpOnly", b"a=[b]", b"a=b,; Max-Age=1", b"a=b\\", b"a=b, c=d" + ALL, b"a=b,c" + ALL, b"a=b\\c" + ALL,
          b"a={b}" + ALL, b"a=b=c" + ALL, b"a=[b]" + ALL, data=rb"\A[^;]*[,\\{}\[\]=].*[,\\{}\[\]=]|\A[^=]*=[^;]*[,\\{}\[\]]"),
    Class("quotes in a value", "RFC 6265bis §5.6: quotes are of the value, and `;` ends it in quotes, too", b"a=\"b\"", b"a=\"\"",
          b"a=\"b;c\"", b"a=\"b;\tc\"", b"a=\"b", b"a=b\"c", b"a=\"b\\\"c\"", b"a=\"b\"; Path=/", b"a=\"b;c\"; Path=/",
          b"a=\"b\" c", b"a=\"b; Path=/", b"a=\"b;c\"; Max-Age=1", b"a=\"b; Secure\"", b"a=\"b; Max-Age=1\"",
          b"a=\"b; Domain=a\"; Domain=b", b"a=\"b; HttpOnly\"", b"a=\"b; Expires=Sun, 06 Nov 1994 08:49:37 GMT\"",
          b"a=\"b\"; Secure; HttpOnly", b"a=\"b\";Path=\"/\"", b"a=\"b\\", b"a=\"\\342\"", b"a=\"b" + ALL, b"a=\"b\" c" + ALL,
          b"a=\"b;c\"" + ALL, b"a=b\"c" + ALL, b"a=\"b\\\"c\"" + ALL, b"a=\"b" + ALL + b"\"", b"a=\"\"" + ALL,
          data=rb"\A[^;]*\""),
    Class("bytes over 0x7F", "RFC 6265bis §5.6: Lastro requires UTF-8 in name and value, as other platforms' strings do",
          b"a=\xff", b"\xff", b"a=\t\xff", b"a=\"\x80\"", b"\xff=b", b"\xff; Path=/", b"a=caf\xe9; Path=/", ours="^notUTF8"),
    Class("UTF-8", "RFC 6265bis §5.6: any bytes", b"a=caf\xc3\xa9", b"\xc3\xa9=b", b"a=\xc3\xa9; Path=/", b"a=b; Path=/\xc3\xa9",
          b"a=b; Path=/\xff", b"a=b; Domain=\xff", b"a=b; Secure=\xff", b"a=b; HttpOnly=\xff", b"a=b; Domain=\xc3\xa9.example",
          b"a=b; Expires=\xff; Path=/", b"a=b; Max-Age=\xd9\xa3", b"a=b; \xff=c; Path=/", b"a=b; Path=/a; \xff",
          b"a=b; SameSite=\xff", b"a=b; Max-Age=1\xff", b"a=b; Expires=06 Nov 1994 08:49:37 GMT\xff", b"a=b; Secure\xff",
          b"a=b; Domain=a\xff; Path=/a", b"a=b; Unknown=\xff" + ALL, b"a=caf\xc3\xa9" + ALL, data=rb"[\x80-\xff]"),
    Class("control character", "RFC 6265bis §5.6: the line is ignored", b"a=\x01", b"a\x01", b"a=b\x7f", b"a=b\x00",
          b"a=b; Path=\x01", b"\x0ca=b", b"\x0ca", b"a=b; Path=/\x7f", b"a=b\x0b; Path=/", b"a=b; \x1fSecure", b"a=b;\x00",
          b"a=b;\x1c", b"a=b; Path=/\x01; Secure", b"a=b; \x0cPath=/", b"a=\x1db", b"a=b; Max-Age=\x0b1",
          data=rb"[\x00-\x08\x0a-\x1f\x7f]", ours="^controlCharacter"),
    Class(
        "Max-Age that is no number", "RFC 6265bis §5.6.2: ignored, unless all are digits, after at most one minus", *[
            b"a=b; Max-Age=" + each for each in (b"+1", b"1.5", b"x", b"", b"1e3", b"\"1\"", b"1 2", b"--1", b"-", b"/", b"0x1",
                                                 b"1;Max-Age=x", b"x;Max-Age=1", b"true", b"a,b", b"1_0", b"+1; Path=/",
                                                 b"x; Expires=Sun, 06 Nov 1994 08:49:37 GMT", b"=1")
        ], b"a=b; Max-Age", b"a=b; Max-Age; Secure", b"a=b; Max-Age; Max-Age=1", b"a=b; Max-Age=1; Max-Age", b"a=b; Max-age ",
        b"a=b; Max-Age Secure", b"a=b; Max-Age HttpOnly", b"a=b; Max-Age=x y" + ALL, b"a=b; Max-Age" + ALL,
        data=rb"(?i)max-age(?![ \t]*=[ \t]*-?\d+[ \t]*(;|\Z))"),
    Class(
        "Max-Age", "RFC 6265bis §5.6.2: a number of any length; Go takes no leading zero", *[
            b"a=b; Max-Age=" + each
            for each in (b"01", b"99999999999999999999", b"-1", b"0", b"00", b"1; Max-Age=2", b"-99999999999999999999", b"1 ",
                         b" 1", b"1; Max-Age=0", b"3600; Expires=Sun, 06 Nov 1994 08:49:37 GMT", b"-0", b"1\t")
        ], b"a=b; Max-Age = 1", b"a=b; max-age=1", b"a=b;;Max-Age=1", b"a=b; Expires=Sun, 06 Nov 1994 08:49:37 GMT; Max-Age=1",
        data=rb"(?i)max-age[ \t]*=[ \t]*-?\d"),
    Class(
        "Expires in another form", "RFC 6265bis §5.1.1: time, day, month and year as they come, from 1601 on",
        *date(b"Sunday, 06-Nov-94 08:49:37 GMT", b"Sun Nov  6 08:49:37 1994", b"06 Nov 1994 08:49:37", b"06 Nov 1994 8:4:7 GMT",
              b"06-Nov-36 08:49:37 GMT", b"06 Nov 69 08:49:37 GMT", b"06 Nov 1600 08:49:37 GMT", b"06 Nov 1601 08:49:37 GMT",
              b"Xxx, 06 Nov 1994 08:49:37 GMT", b"06 November 1994 08:49:37 GMT", b"08:49:37 06 Nov 1994",
              b"06/Nov/1994 08:49:37 GMT", b"06Nov1994 08:49:37 GMT", b"31 Feb 1994 08:49:37 GMT", b"00 Nov 1994 08:49:37 GMT",
              b"06 11 1994 08:49:37 GMT", b"06 Nov 1994 24:00:00 GMT", b"06 Nov 1994 08:60:00 GMT", b"06 Nov 1994 08:49:60 GMT",
              b"06 Nov 1994 08:49 GMT", b"06 Nov 1994 08:49:37.5 GMT", b"06 Nov 1994 084937 GMT", b"06 Nov 1994 08:49:37 PST",
              b"06 Nov 1994 08:49:37 +0100", b"06 Nov 9999 08:49:37 GMT", b"06 Nov 194 08:49:37 GMT", b"06 Nov 0 08:49:37 GMT",
              b"06 Xyz 1994 08:49:37 GMT", b"x", b"", b"0", b"06 Nov 1994 08:49:37 PM GMT", b"06 Nov 1994 08:49:37 UTC",
              b"06 Nov 1994 08:49:37 Z", b"06-Nov-1994 08:49:37 GMT", b"6 Nov 1994 08:49:37 GMT",
              b"Sun, 06 nov 1994 08:49:37 GMT", b"Sun, 06 Nov 94 08:49:37 GMT", b"Sun, 06 Nov 1994 08:49:37",
              b"06 Nov 99 08:49:37 GMT", b"06 Nov 70 08:49:37 GMT", b"32 Nov 1994 08:49:37 GMT", b"29 Feb 2100 08:49:37 GMT",
              b"06 Nov 2036 08:49:37 GMT; Expires=x", b"x; Expires=06 Nov 2036 08:49:37 GMT", b"Sun, 06 Nov 1600 08:49:37 GMT",
              b"Sun, 06 Nov 1994 08:49:37 GMT; Expires=", b"Sun, 06-Nov-94 08:49:37 GMT", b"06 Nov 1994 08:49:37 gmt",
              b"06 Nov 1994 08:49:37GMT", b"06 Sept 1994 08:49:37 GMT", b"\"06 Nov 1994 08:49:37 GMT\"", b"06 Nov 94 8:49:37",
              b"1994", b"31 Nov 1994 08:49:37 GMT", b"06 Nov 69 08:49:37", b"06-11-1994 08:49:37", b"06-11-94 08:49:37",
              b"06-Nov-1601 08:49:37 GMT", b"06-Nov-1600 08:49:37 GMT", b"06-Nov-0 08:49:37 GMT",
              b"06 Nov 1994; Expires=08:49:37", b"Sunday, 06-Nov-194 08:49:37 GMT"), b"a=b; Expires", b"a=b; Expires; Secure",
        data=rb"(?i)expires"),
    Class(
        "Path", "RFC 6265bis §5.6.4: as it is; the last counts, and any that begins with no slash means the default", *[
            b"a=b; Path=" + each
            for each in (b"/A", b"/a; Path=b", b"/a; Path", b"\"/a\"", b"/a b", b"/a,b", b"/a=b", b"/a; Path=/b", b"", b"a",
                         b"/a\t", b"/{a}", b"/a;Path=", b"/a; Path=\"/b\"", b" /a", b"/a@b", b"/\\a")
        ], b"a=b; PATH=/a; PATH", b"a=b; Path = /a", b"a=b; Path==/a", b"a=b;;Path=/a", b"a=b; Path", b"a=b;\tPath=/a",
        b"a=b; Path=/a b" + ALL, b"a=b; Path Secure", b"a=b; Path HttpOnly", data=rb"(?i)path"),
    Class(
        "Domain", "RFC 6265bis §5.6.3: one leading dot is dropped; the jar compares it with the host afterwards", *[
            b"a=b; Domain=" + each
            for each in (b"EXAMPLE.com", b"..a", b"a,b", b"\"a\"", b"", b"127.0.0.1", b"a:80", b"a b", b"/a", b"-1", b"1.5",
                         b"+1", b".a; Domain=", b"a; Domain=b", b"a; Domain", b"x_y", b"/", b"a=b", b"1e3", b".", b"0", b"1 ",
                         b"\"/a\"", b"localhost", b".example.com", b"/a=b", b"\t1", b"x; Domain=..a")
        ], b"a=b; Domain", b"a=b; Domain = a", b"a=b;;Domain=a", b"a=b; Domain==a", b"a=b; Domain=a b" + ALL,
        b"a=b; Domain Secure", b"a=b; Domain HttpOnly", data=rb"(?i)domain"),
    Class("flags with a value", "RFC 6265bis §5.6.5: the value has no meaning", b"a=b; Secure=x", b"a=b; HttpOnly=1",
          b"a=b; Secure=", b"a=b; HttpOnly=\"x\"", b"a=b; Secure=\"x\"", b"a=b; Secure = x", b"a=b; HttpOnly=a b",
          b"a=b; Secure=a,b", b"a=b; Secure=/a", b"a=b; HttpOnly==x", b"a=b; HttpOnly =", b"a=b; Secure=/a=b", b"a=b; HttpOnly=",
          b"a=b; Secure=\\", b"a=b; Secure=a b" + ALL, b"a=b; HttpOnly Secure", b"a=b; Secure HttpOnly",
          data=rb"(?i)(secure|httponly)[ \t]*[^; \t]"),
    Class(
        "SameSite", "RFC 6265bis §5.6.7: in any case; an unknown value is none", *[
            b"a=b; SameSite=" + each
            for each in (b"x", b"", b"\"lax\"", b"lax; SameSite=x", b"lax; SameSite", b" lax", b"lax; SameSite=strict")
        ], b"a=b; SameSite", b"a=b; SameSite = Lax", b"a=b; SameSite==lax", b"a=b;;SameSite=Lax", b"a=b; SameSite=a b" + ALL,
        b"a=b; SameSite Secure", b"a=b; SameSite HttpOnly", data=rb"(?i)samesite"),
    Class(
        "unknown attributes and empty ones",
        "RFC 6265bis §5.6: ignored. http.cookies takes them for other cookies, or refuses the line", b"a=b; Unknown=1",
        b"a=b; Unknown", b"a=b;;Secure", b"a=b;;HttpOnly", b"a=b; Partitioned", b"a=b; Version=1", b"a=b; Comment=x", b"a=b;",
        b"a=b; Unknown; Secure", b"a=b; =x; Secure", b"a=b; x y; HttpOnly", b"a=b;\tSecure", b"a=b ; Secure",
        b"a=b; Secure; Unknown=\"x", b"a=b;;", b"a=b; /; Path=/a",
        b"a=b; Unknown; Max-Age=1; Domain=a; Path=/; SameSite=Lax; HttpOnly; Secure",
        b"a=b;; Max-Age=1; Domain=a; Path=/; SameSite=Lax; HttpOnly; Secure", b"a=b; Comment=; Secure",
        b"a=b; Version; Max-Age=1", b"a=b; Unknown=/a b; Path=/",
        b"a=b; Expires=x; Domain=a; Path=/; SameSite=Lax; HttpOnly; Secure; Max-Age=1", b"a=b; c=d; Path=/a",
        b"a=b; Version=2; Secure", b"a=b; Unknown Secure", b"a=b; Unknown HttpOnly", b"a=b; Unknown Path=/",
        b"a=b; Unknown Max-Age=1", b"a=b; Unknown=x y" + ALL, b"a=b; Unknown=\"x" + ALL,
        data=rb"(?i)(;[ \t]*(;|\Z)|[^;]*;[ \t]*(?!(path|domain|max-age|secure|httponly|samesite)"
        rb"[ \t]*(;|=[ \t]*[^\s\"(),<>@{}\[\]\\;]+[ \t]*(;|\Z)|\Z)))"),
]
