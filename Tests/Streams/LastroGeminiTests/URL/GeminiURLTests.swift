// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import Lastro
@testable import LastroGemini

@Suite("Gemini URLs")
struct GeminiURLTests {
  static let read: [(String, String)] = [
    ("gemini://example.com/a?b", "gemini://example.com/a?b"),
    ("gemini://example.com", "gemini://example.com/"),
    ("example.com", "gemini://example.com/"),
    ("example.com/a", "gemini://example.com/a"),
    ("//example.com/a", "gemini://example.com/a"),
    ("example.com:1966/a", "gemini://example.com:1966/a"),
    ("localhost:1965", "gemini://localhost/"),
    ("localhost:", "gemini://localhost/"),
    ("GEMINI://Example.COM:1965/A", "gemini://example.com/A"),
    ("gemini://example.com:/a", "gemini://example.com/a"),
    ("gemini://example.com:70/a", "gemini://example.com:70/a"),
    ("gemini://bücher.example/ü?ü", "gemini://xn--bcher-kva.example/%C3%BC?%C3%BC"),
    ("gemini://[::1]/", "gemini://[::1]/"), ("gemini://[::1]:7000", "gemini://[::1]:7000/"),
    ("gemini://127.0.0.1/x", "gemini://127.0.0.1/x"),
    ("gemini://h.example?q", "gemini://h.example/?q"), ("gemini://h.example/?", "gemini://h.example/?"),
    ("gemini://h.example/a b", "gemini://h.example/a%20b"),
    ("gemini://h.example/%zz%41", "gemini://h.example/%25zz%41"),
    ("gemini://h.example/a?b c&d=\"é\"", "gemini://h.example/a?b%20c&d=%22%C3%A9%22"),
    ("gemini://h.example/a/../b/./c", "gemini://h.example/b/c"), ("gemini://h.example/..", "gemini://h.example/"),
    ("gemini://h.example/a/%2e%2E/b", "gemini://h.example/b"), ("gemini://h.example/a/.", "gemini://h.example/a/"),
    ("gemini://h.example//a//", "gemini://h.example//a//"), ("gemini://h.example/a#part", "gemini://h.example/a"),
    ("gemini://h.example/a?x#part?y", "gemini://h.example/a?x"), ("gemini://h.example#f", "gemini://h.example/"),
    ("gemini://h.example/[x]\\", "gemini://h.example/%5Bx%5D%5C"),
    ("//h.example/\u{301}x", "gemini://h.example/%CC%81x"),
  ]

  @Test("Valid URLs are parsed and sent as expected", arguments: read)
  func reading(text: String, sent: String) throws {
    let url = try GeminiURL(text)
    #expect(url.text == sent && "\(url)" == sent)
    #expect(try GeminiURL(sent).text == sent)
    #expect(GeminiRequest(url: url).data == Data("\(sent)\r\n".utf8))
  }

  static let refused: [(String, FailureCode)] = [
    ("", .invalidURL), ("gemini://", .invalidURL), ("gemini:///a", .invalidURL), ("/a", .invalidURL),
    ("gemini:a", .invalidURL), ("gemini:", .invalidURL), ("https://example.com/", .unsupportedScheme),
    ("mailto:me@example.com", .unsupportedScheme), ("javascript:alert(1)", .unsupportedScheme),
    ("gemini://me@example.com/", .invalidURL), ("gemini://me:pw@example.com/", .invalidURL),
    ("gemini://@example.com/", .invalidURL), ("gemini://example.com:0/", .invalidURL),
    ("gemini://example.com:65536/", .invalidURL), ("gemini://example.com:x/", .invalidURL),
    ("gemini://example.com:-1/", .invalidURL), ("gemini://exa mple.com/", .invalidURL),
    ("gemini://example.com/\r\nx", .invalidURL), ("gemini://example.com/\t", .invalidURL),
    ("gemini://example.com/\u{0}", .invalidURL), ("gemini://example.com/\u{7F}", .invalidURL),
    ("gemini://[::1/", .invalidURL), ("gemini://[::1]x/", .invalidURL), ("gemini://::1/", .invalidURL),
    ("gemini://1.2.3/", .invalidURL), (" gemini://example.com/", .invalidURL),
  ]

  @Test("Invalid URLs are refused", arguments: refused)
  func refusing(text: String, code: FailureCode) {
    let error = #expect(throws: GeminiError.self) { try GeminiURL(text) }
    #expect(error?.code == code && error?.stage == .request, "\(text): \(String(describing: error))")
  }

  @Test("1,024 bytes are accepted and one more is not, counted as sent")
  func length() throws {
    let start = "gemini://example.com/"
    let fits = start + String(repeating: "a", count: 1024 - start.utf8.count)
    #expect(try GeminiURL(fits).text.utf8.count == 1024)
    #expect(GeminiRequest(url: try GeminiURL(fits)).data.count == 1026)
    #expect(try GeminiURL(fits + "#fragment").text.utf8.count == 1024)
    for text in [fits + "a", start + String(repeating: "é", count: 200), start + String(repeating: "x", count: 9000)] {
      #expect(throws: GeminiError.self) { try GeminiURL(text) }
    }
    #expect(#expect(throws: GeminiError.self) { try GeminiURL(fits + "a") }?.code == .urlTooLong)
    let base = try GeminiURL(fits)
    #expect(#expect(throws: GeminiError.self) { try base.answering("b") }?.code == .urlTooLong)
  }

  /// The examples of RFC 3986 §5.4, with gemini in place of http; `g:h` has another scheme.
  static let references: [(String, String)] = [
    ("g", "gemini://a/b/c/g"), ("./g", "gemini://a/b/c/g"), ("g/", "gemini://a/b/c/g/"), ("/g", "gemini://a/g"),
    ("//g", "gemini://g/"), ("?y", "gemini://a/b/c/d;p?y"), ("g?y", "gemini://a/b/c/g?y"),
    ("#s", "gemini://a/b/c/d;p?q"), ("g#s", "gemini://a/b/c/g"), ("g?y#s", "gemini://a/b/c/g?y"),
    (";x", "gemini://a/b/c/;x"), ("g;x", "gemini://a/b/c/g;x"), ("", "gemini://a/b/c/d;p?q"),
    (".", "gemini://a/b/c/"), ("./", "gemini://a/b/c/"), ("..", "gemini://a/b/"), ("../", "gemini://a/b/"),
    ("../g", "gemini://a/b/g"), ("../..", "gemini://a/"), ("../../g", "gemini://a/g"),
    ("../../../g", "gemini://a/g"), ("/./g", "gemini://a/g"), ("/../g", "gemini://a/g"), ("g.", "gemini://a/b/c/g."),
    (".g", "gemini://a/b/c/.g"), ("g..", "gemini://a/b/c/g.."), ("./../g", "gemini://a/b/g"),
    ("./g/.", "gemini://a/b/c/g/"), ("g/./h", "gemini://a/b/c/g/h"), ("g/../h", "gemini://a/b/c/h"),
    ("g?y/../x", "gemini://a/b/c/g?y/../x"), ("gemini://other:1/x", "gemini://other:1/x"), (" g ", "gemini://a/b/c/g"),
    ("g:1/x", ""), ("https://example.com/", ""), ("./g:1", "gemini://a/b/c/g:1"),
  ]

  @Test("References are resolved as in RFC 3986", arguments: references)
  func resolving(reference: String, result: String) throws {
    let base = try GeminiURL("gemini://a/b/c/d;p?q")
    #expect(try base.resolve(reference)?.text ?? "" == result)
  }

  @Test("References that are not URLs are refused")
  func badReferences() throws {
    let base = try GeminiURL("gemini://a/b")
    for text in ["//", "gemini://", "gemini://u@h/", "a\u{1}b", String(repeating: "x", count: 1100)] {
      #expect(throws: GeminiError.self, "\(text)") { try base.resolve(text) }
    }
  }

  @Test("Input for a prompt is percent-encoded, and a space is not a plus")
  func answers() throws {
    let url = try GeminiURL("gemini://h.example/search?old#part")
    let answered = try url.answering("a b+c&d=é?/#%")
    #expect(answered.text == "gemini://h.example/search?a%20b%2Bc%26d%3D%C3%A9%3F%2F%23%25")
    #expect(answered.input == "a b+c&d=é?/#%" && answered.fragment == nil)
    #expect(try url.answering("").text == "gemini://h.example/search?")
  }

  @Test("Sensitive input appears only in the URL that is sent")
  func sensitive() throws {
    let url = try GeminiURL("gemini://h.example/login").answering("hunter2", sensitive: true)
    #expect(url.text.hasSuffix("?hunter2"))
    var dumped = ""
    dump(url, to: &dumped)
    let error = GeminiError(stage: .http, code: .cancelled, message: "no", url: url)
    for text in ["\(url)", String(reflecting: url), dumped, "\(error)", String(reflecting: error)] {
      #expect(!text.contains("hunter2"), "\(text)")
    }
    let same = try #require(try url.resolve("#x"))
    #expect(!"\(same)".contains("hunter2"))
  }

  @Test("Foundation's URLs are accepted")
  func foundation() throws {
    let url = try #require(URL(string: "gemini://example.com/a%20b?c"))
    #expect(try GeminiRequest(url: url).url.text == "gemini://example.com/a%20b?c")
    #expect(try GeminiRequest(url: url).data == Data("gemini://example.com/a%20b?c\r\n".utf8))
  }
}
