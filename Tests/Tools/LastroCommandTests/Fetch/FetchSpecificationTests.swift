// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Foundation
import PeerSupport
import Testing

@testable import LastroCommand

/// Tests of the requests that flags make, in process.
@Suite("The request that flags of fetch make", .timeLimit(.minutes(15)))
struct FetchSpecificationTests {
  private func specification(_ words: String...) throws -> RequestSpecification {
    let command = try FetchCommand.parse(
      Array(CurlWords.expanded(["fetch", "-s"] + words).dropFirst()))
    return try command.specification(for: command.urls[0])
  }

  @Test("--url-query adds to the query, encoded unless a + is in front")
  func queries() throws {
    let url = try specification(
      "http://a.test/?z=0#f", "--url-query", "q=a b&c", "--url-query", "+d=%20"
    ).url
    #expect(url == "http://a.test/?z=0&q=a+b%26c&d=%20#f")
  }

  @Test(
    "SOCKS5 flags and -U become the URL of the proxy",
    arguments: [
      (["--socks5", "h:1"], "socks5://h:1"), (["--socks5-hostname", "h:1"], "socks5h://h:1"),
      (["-x", "h:1", "-U", "a@b:c d"], "http://a%40b:c%20d@h:1"),
      (["--socks5", "h:1", "-Ua:b"], "socks5://a:b@h:1"),
    ])
  func proxies(flags: [String], url: String) throws {
    let command = try FetchCommand.parse(
      Array(CurlWords.expanded(["fetch", "http://a.test"] + flags).dropFirst()))
    #expect(try command.specification(for: command.urls[0]).proxy == url)
  }

  @Test("-z sends the date of its value, or of a file; - in front asks for what is not newer")
  func times() throws {
    let directory = try PeerDirectory()
    let file = try directory.write("a", to: "file")
    try FileManager.default.setAttributes(
      [.modificationDate: Date(timeIntervalSince1970: 0)], ofItemAtPath: file)
    func fields(_ value: String) throws -> [String] {
      try specification("http://a.test", "-z", value).headers.map { "\($0.name): \($0.value)" }
    }
    #expect(try fields(file) == ["If-Modified-Since: Thu, 01 Jan 1970 00:00:00 GMT"])
    #expect(try fields("-" + file) == ["If-Unmodified-Since: Thu, 01 Jan 1970 00:00:00 GMT"])
    #expect(try fields("2026-01-31") == ["If-Modified-Since: Sat, 31 Jan 2026 00:00:00 GMT"])
    #expect(
      try fields("2026-01-31T10:00:00Z") == ["If-Modified-Since: Sat, 31 Jan 2026 10:00:00 GMT"])
    #expect(
      try fields("Sat, 31 Jan 2026 10:00:00 GMT") == [
        "If-Modified-Since: Sat, 31 Jan 2026 10:00:00 GMT"
      ])
    #expect(try fields("no-such-file").isEmpty)
  }

  @Test("--netrc-file has the credentials of the URL's host, unless the line has others")
  func netrc() throws {
    let directory = try PeerDirectory()
    let text = """
      # comment
      machine a.test login ann password "b \\"c"
      macdef init
      machine trap login no password no

      default login any
        password one
      """
    let file = try directory.write(text, to: "netrc")
    func user(_ words: String...) throws -> String? {
      let command = try FetchCommand.parse(["--netrc-file", file] + words)
      return try command.specification(for: command.urls[0]).basic
    }
    #expect(try user("-n", "https://A.test:1/x") == "ann:b \"c")
    #expect(try user("https://b.test") == "any:one" && user("https://trap") == "any:one")
    #expect(try user("-u", "x:y", "https://a.test") == "x:y")
    #expect(try user("--bearer", "t", "https://a.test") == nil)
  }

  @Test(
    "--limit-rate reads units of 1024",
    arguments: [("100", 100), ("2k", 2048), ("1.5M", 1_572_864), ("1G", 1_073_741_824)])
  func rates(text: String, bytes: Int) { #expect(TransferFlags.rate(text) == bytes) }

  @Test("Ports, rates and delays have no sign", arguments: ["+1", "-1"])
  func signs(number: String) throws {
    for text in ["a:\(number):b:2", "a:1:b:\(number)"] {
      #expect(throws: (any Error).self, "\(text)") { try ConnectTo(text) }
    }
    #expect(throws: Never.self) { try ConnectTo("a:1:b:2") }
    #expect(throws: (any Error).self) {
      try specification("http://a.test", "--resolve", "a.test:\(number):127.0.0.1").connection()
    }
    #expect(throws: Never.self) {
      try specification("http://a.test", "--resolve", "a.test:1:127.0.0.1").connection()
    }
    #expect(TransferFlags.rate(number + "k") == nil)
    #expect(RequestSpecification.Backoff("constant:" + number) == nil)
    #expect(RequestSpecification.Backoff("constant:1") == .constant(1))
  }

  @Test("JSON is indented without a change of its values; other bytes are left alone")
  func pretty() throws {
    func shown(_ text: String, _ isColored: Bool = false) -> String? {
      PrettyJSON.text(of: Array(text.utf8), isColored: isColored).map {
        String(decoding: $0, as: UTF8.self)
      }
    }
    #expect(
      shown(#"{"b":1.0e5,"a":[ ],"c":{},"d":[true,null,"x\"}"]}"#) == """
        {
          "b": 1.0e5,
          "a": [],
          "c": {},
          "d": [
            true,
            null,
            "x\\"}"
          ]
        }

        """)
    #expect(shown("{} [1]\n2") == "{}\n[\n  1\n]\n2\n")
    #expect(
      shown(#"{"a":1}"#, true) == "{\n  \u{1B}[34;1m\"a\"\u{1B}[0m: \u{1B}[36m1\u{1B}[0m\n}\n")
    for broken in [
      "", "{", "{\"a\"}", "[1,]", "nope", "\"a\u{1B}[0m\"", "\"a\\\u{1B}[0m\"", "\"\\", "[1", "{\"a\":1]",
      String(repeating: "[", count: 9_999),
    ] {
      #expect(shown(broken) == nil, "\(broken.prefix(20))")
    }
  }

  /// Refused flags, with a part of the error that says what to write.
  static let refusals: [(line: String, part: String)] = [
    ("-k https://api.example.org", "write --cacert FILE"),
    ("-k https://a.test --via socks5://localhost:1", "write --cacert"),
    ("http://a.test -o a -O", "write one for each URL"),
    ("http://a.test http://b.test -T f", "write --next"),
    ("http://a.test http://b.test --download f", "write --next"),
    ("http://a.test http://b.test -D f", "write --next"),
    ("http://a.test http://b.test --etag-save f", "write --next"),
    ("http://a.test -n", "write --netrc-file"),
    ("http://a.test --tls-max 1.1", "write 1.2, 1.3 or default"),
    ("http://a.test --tlsv1.3 --tls-max 1.2", "exclude each other"), ("http://a.test -J", "-J needs -O"),
    ("http://a.test -U a:b", "-U needs -x"), ("http://a.test -x h:1 -U a", "write USER:PASSWORD"),
    ("http://a.test -x h:1 --socks5 h:2", "-x and --socks5 exclude each other"),
    ("http://a.test --limit-rate fast", "write bytes a second"),
    ("http://a.test --parallel-max 0", "give 1 or more"),
    ("http://a.test http://b.test -C - -o a", "-C needs -o FILE or -O"),
    ("http://a.test -O -J -C -", "exclude each other"),
    ("https://localhost -k --via socks5h://h:1", "-k and --via exclude each other"),
    ("https://localhost -k --pin localhost=\(PinnedServers.absent)", "-k and pins exclude each other"),
    ("https://localhost -k --pin-policy p.json --report-only", "-k and pins exclude each other"),
  ]

  @Test(
    "A refused flag is answered with one line that says what to write", arguments: refusals.indices)
  func refused(index: Int) throws {
    let (line, part) = Self.refusals[index]
    let words = CurlWords.expanded(["fetch"] + line.split(separator: " ").map(String.init))
      .dropFirst()
    let error = #expect(throws: (any Error).self) {
      let command = try FetchCommand.parse(Array(words))
      for url in command.urls { _ = try command.specification(for: url) }
    }
    let text = FetchCommand.message(for: try #require(error))
    #expect(text.contains(part) && !text.contains("\n"), "\(text)")
  }
}
