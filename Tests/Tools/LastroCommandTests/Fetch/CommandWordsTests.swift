// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Testing

@testable import LastroCommand

/// Tests of the first words of a command line, in process.
@Suite("The first words of a command line", .timeLimit(.minutes(15)))
struct CommandWordsTests {
  @Test(
    "A method or a URL in place of a command is a fetch",
    arguments: [
      ("localhost:8080/a", "fetch localhost:8080/a"), (":8080", "fetch :8080"),
      ("localhost", "fetch localhost"),
      ("https://a.test -v", "fetch https://a.test -v"), ("-sS a.test", "fetch -sS a.test"),
      ("get a.test", "fetch -X GET a.test"), ("POST a.test -d x", "fetch -X POST a.test -d x"),
      ("head a.test", "fetch -I a.test"), ("fetch a.test", "fetch a.test"), ("doctor", "doctor"),
      ("--help", "--help"),
      ("--version", "--version"), ("help bench", "help bench"),
      ("--generate-completion-script bash", "--generate-completion-script bash"),
    ])
  func fetches(line: String, resolved: String) throws {
    let words = try CommandWords.resolved(line.split(separator: " ").map(String.init))
    #expect(words.joined(separator: " ") == resolved)
  }

  @Test(
    "A misspelt command is refused with the nearest one",
    arguments: [
      ("ftech", "fetch"), ("benhc", "bench"), ("explian", "explain"), ("dotcor", "doctor"),
      ("pots", "post"),
    ])
  func misspelt(word: String, command: String) throws {
    let error = #expect(throws: ValidationError.self) {
      try CommandWords.resolved([word, "a.test"])
    }
    #expect(error?.message.contains("write 'lastro \(command)'") == true, "\(error?.message ?? "")")
  }

  @Test("A word that is near no command is refused without a guess", arguments: ["zzzzzz", "q"])
  func unknown(word: String) throws {
    let error = #expect(throws: ValidationError.self) { try CommandWords.resolved([word]) }
    #expect(error?.message.contains("'lastro --help'") == true, "\(error?.message ?? "")")
  }

  @Test(
    "A URL without a scheme is http for near hosts, and https for all others",
    arguments: [
      ("localhost:1/a", "http://localhost:1/a"), ("a.localhost", "http://a.localhost"),
      (":9400/x", "http://localhost:9400/x"),
      ("127.0.0.1", "http://127.0.0.1"), ("192.168.1.1/a?b#c", "http://192.168.1.1/a?b#c"),
      ("10.0.0.1:1", "http://10.0.0.1:1"),
      ("172.16.0.1", "http://172.16.0.1"), ("172.32.0.1", "https://172.32.0.1"),
      ("[::1]:80/", "http://[::1]:80/"),
      ("[fd00::1]", "http://[fd00::1]"), ("[2001:db8::1]", "https://[2001:db8::1]"),
      ("8.8.8.8", "https://8.8.8.8"),
      ("localhost.example.org", "https://localhost.example.org"),
      ("127.0.0.1.example.org", "https://127.0.0.1.example.org"),
      ("a.test/localhost", "https://a.test/localhost"),
      ("a.test?q=10.0.0.1", "https://a.test?q=10.0.0.1"),
    ])
  func scheme(typed: String, url: String) {
    #expect(SchemelessURL.completed(typed) == url)
    #expect(SchemelessURL.completed(url) == nil)
  }

  @Test("--next divides requests; -o and -O belong to URLs in their order; -K is read in place")
  func requests() throws {
    func parsed(_ line: String) throws -> [FetchCommand] {
      guard
        case .fetch(let whole) = try LastroCommand.parse(
          line.split(separator: " ").map(String.init))
      else { return [] }
      return whole.requests
    }
    let files = try #require(try parsed("fetch a.test/1 -O a.test/2 -ob --url a.test/3").first)
    #expect(files.urls == ["a.test/1", "a.test/2", "a.test/3"])
    #expect(try files.output.path(for: "http://a.test/1", index: 0) == "1")
    #expect(try files.output.path(for: "http://a.test/2", index: 1) == "b")
    #expect(try files.output.path(for: "http://a.test/3", index: 2) == nil)
    let requests = try parsed("fetch -d x a.test -s --next -XPUT b.test -: c.test")
    #expect(requests.map(\.urls) == [["a.test"], ["b.test"], ["c.test"]])
    #expect(
      requests.map(\.body.data) == [["x"], [], []]
        && requests.map(\.request.method) == [nil, "PUT", nil])
    #expect(requests.map(\.output.silent) == [true, true, true])
    let options = ConfigFile.options(
      in: "# a\nurl = \"http://a.test/\\\"x\"\n  -H: \"X-A: 1\"\nsilent\nuser b:c\n\nnext")
    #expect(
      options == [
        "--url", "http://a.test/\"x", "-H", "X-A: 1", "--silent", "--user", "b:c", "--next",
      ], "\(options)")
  }

  @Test("Every example in the help is a command line that is understood")
  func examples() throws {
    let text = [
      LastroCommand.configuration.discussion, FetchCommand.configuration.discussion,
      BenchCommand.configuration.discussion,
    ].joined(separator: "\n")
    let examples = text.split(separator: "\n").map { String($0.drop { $0 == " " }) }.filter { $0.hasPrefix("lastro ") }
    #expect(examples.count > 10)
    for line in examples {
      var words: [String] = []
      for (number, piece) in line.split(separator: "'", omittingEmptySubsequences: false).enumerated() {
        words += number % 2 == 1 ? [String(piece)] : piece.split(separator: " ").map(String.init)
      }
      #expect(throws: Never.self, "\(line)") { try LastroCommand.parse(Array(words.dropFirst())) }
    }
  }
}
