// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import LastroWire

@Suite("Set-Cookie lines", .timeLimit(.minutes(15)))
struct SetCookieLineTests {
  private static func problem(_ bytes: some Collection<UInt8>) -> SetCookieLine.Problem? {
    do throws(SetCookieLine.Problem) {
      _ = try SetCookieLine(bytes)
      return nil
    } catch {
      return error
    }
  }

  private static func line(_ text: String) throws -> SetCookieLine { try SetCookieLine(text.utf8) }

  @Test(
    "Name and value are split at the first = before the first ;, without blanks and with quotes",
    arguments: [
      ("a=b", "a", "b"), (" \ta \t=\t b \t; Secure", "a", "b"), ("a=b=c", "a", "b=c"), ("a=", "a", ""),
      ("=b", "", "b"), ("b", "", "b"), ("a=\"b; c\"", "a", "\"b"), ("a=\"b\"", "a", "\"b\""), ("a b=c d", "a b", "c d"),
      ("a=b,c=d", "a", "b,c=d"), ("å=ß", "å", "ß"), ("a=b\tc", "a", "b\tc"), ("a;b=c", "", "a"),
    ])
  func pair(text: String, name: String, value: String) throws {
    let line = try Self.line(text)
    #expect(line.name == name && line.value == value)
  }

  @Test("A line with a control character other than tab is refused, wherever it is")
  func controls() {
    for byte in UInt8.min...UInt8.max {
      let isRefused = byte < 0x20 && byte != 0x09 || byte == 0x7F
      #expect((Self.problem(Array("a=b".utf8) + [byte] + "c; Path=/".utf8) == .controlCharacter) == isRefused)
      #expect((Self.problem(Array("a=b; Path=/".utf8) + [byte]) == .controlCharacter) == isRefused)
    }
  }

  @Test("Lines that are empty, too long, or not UTF-8 are refused")
  func refused() throws {
    #expect(Self.problem("".utf8) == .empty)
    #expect(Self.problem(" = ; Secure".utf8) == .empty)
    #expect(Self.problem(";".utf8) == .empty)
    let long = String(repeating: "v", count: 4095)
    #expect(try Self.line("n=" + long).value == long)
    #expect(Self.problem(("nn=" + long).utf8) == .tooLong)
    #expect(Self.problem(Array("a=".utf8) + [0xFF]) == .notUTF8)
    #expect(Self.problem([0xC3, UInt8(ascii: "="), UInt8(ascii: "b")]) == .notUTF8)
  }

  @Test("The last attribute of a name counts, in any case and with surrounding blanks")
  func attributes() throws {
    let line = try Self.line(
      "a=b; DOMAIN=.x.example ;pAtH=/one; path = /two;Max-Age=1;max-age=2; SECURE; httponly=no; samesite=LAX; x; =y")
    #expect(line.domain == "x.example")
    #expect(line.path == "/two")
    #expect(line.maximumAge == 2)
    #expect(line.isSecure && line.isHTTPOnly)
    #expect(line.sameSite == .lax)
    #expect(try Self.line("a=b; domain=x.example; domain=").domain == nil)
    #expect(try Self.line("a=b; domain=..x").domain == ".x")
    #expect(try Self.line("a=b; path=/x; path=y").path == nil)
    #expect(try Self.line("a=b; samesite=strict; samesite=other").sameSite == .unspecified)
    #expect(try Self.line("a=b; Secured; HttpOnly2").isSecure == false)
  }

  @Test(
    "Max-Age consists of digits with an optional minus, and is otherwise ignored",
    arguments: [
      ("0", 0), ("-1", 0), ("-99999999999999999999", 0), ("10", 10), ("007", 7), ("99999999999999999999", .max),
      ("", nil), ("-", nil), ("+1", nil), ("1.5", nil), ("1x", nil), ("x1", nil), ("\"1\"", nil), ("--1", nil),
    ] as [(String, Int64?)])
  func age(text: String, seconds: Int64?) throws {
    #expect(try Self.line("a=b; Max-Age=\(text)").maximumAge == seconds)
  }

  @Test("An invalid Expires is ignored and keeps an earlier one")
  func expires() throws {
    #expect(try Self.line("a=b; Expires=Sun, 06 Nov 1994 08:49:37 GMT").expires == 784_111_777)
    #expect(try Self.line("a=b; Expires=1 Jan 1970 00:00:00; Expires=never").expires == 0)
  }

  @Test("An attribute value of more than 1024 bytes discards the attribute")
  func longAttribute() throws {
    let path = "/" + String(repeating: "p", count: 1023)
    #expect(try Self.line("a=b; path=\(path)").path == path)
    #expect(try Self.line("a=b; path=/x; path=\(path)p").path == "/x")
  }

  @Test("A megabyte of separators is parsed in time")
  func hostile() throws {
    #expect(try Self.line("a=b" + String(repeating: ";=", count: 500_000)).name == "a")
  }
}
