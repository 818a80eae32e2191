// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

/// Every text that an error prints, as `ErrorTexts.txt` beside this file has it: people read it, and what changes in it
/// is seen in review. `.ci/error_texts.py` looks whether a text in `Sources` is missing here.
@Suite("Error texts", .timeLimit(.minutes(5)))
struct ErrorTextsTests {
  private static let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "ErrorTexts.txt")

  private static func sections() async throws -> [(name: String, texts: ErrorTexts)] {
    [
      ("hosts and URLs", .hosts()), ("requests", try .requests()), ("redirects", try .redirects()),
      ("credentials", try .credentials()), ("tokens", try .tokens()), ("signing", try await .signing()),
      ("pinning policies", try .policies()), ("files of pinning policies", .policyFiles()),
      ("refused servers", try .refusals()), ("pin linter", try .linter()), ("calls", try .calls()),
      ("bodies and doubles", try await .bodies()), ("responses", .responses()),
      ("content codings", .codings()), ("HTTP/2", .http2()),
      ("written requests", .writtenRequests()), ("exchanges of HTTP/1.1", .exchangesOfHTTP1()),
      ("engine's configuration", try .engineConfiguration()),
      ("engine's results", try .engineResults()), ("transfers", .transfers()), ("streams", .engineStreams()),
      ("WebSocket frames", .webSocketFrames()), ("WebSocket handshakes", .webSocketHandshakes()),
      ("WebSockets", .webSockets()), ("Gemini URLs", try .geminiURLs()), ("known hosts", try .knownHosts()),
      ("Gemini", try await .gemini()), ("chains", .chains()), ("proxies", try await .proxies()),
      ("obfs4", try .obfs4()), ("Shadowsocks", try .shadowsocks()),
      ("connections", try .connections()),
      ("dialing", try await .dialing()), ("exchanges", try await .exchanges()),
      ("calls in progress", try await .callsInProgress()), ("open streams", try await .openStreams()),
      ("recordings", try await .recordings()), ("answers", try await .answers()),
      ("connecting", try await .connecting()), ("machines", .machines()),
      ("files of known hosts", try await .knownHostsFiles()), ("one line", try await .oneLine()),
      ("defaults of a stack", try await .defaults()),
    ]
  }

  @Test("are those of the file; LASTRO_RENEW=1 writes it anew")
  func golden() async throws {
    let made = try await Self.sections().map { "# \($0.name)\n" + $0.texts.lines.map { $0 + "\n" }.joined() }
      .joined(separator: "\n")
    try expectGolden(made, keptIn: Self.file)
  }

  private static func lines() throws -> [ErrorLine] {
    ErrorLine.all(in: try String(contentsOf: file, encoding: .utf8))
  }

  @Test("have one form: one short line, a sentence without its full stop, nothing that \"is none\" or \"is no …\"")
  func form() throws {
    let lines = try Self.lines()
    #expect(lines.count > 400)
    for line in lines { line.expectForm() }
  }

  @Test("have a remedy, or a range")
  func remedies() throws {
    for line in try Self.lines() { line.expectRemedy() }
  }
}

/// Texts of errors, a line for each: the error's type, and what it prints.
struct ErrorTexts {
  private(set) var lines: [String] = []
  /// What differs from run to run, or from one libcurl to the next, and what stands for it.
  var masks: [(Regex<Substring>, String)] = []

  /// Dates and pins, of certificates that are made anew each time.
  static var minted: [(Regex<Substring>, String)] {
    [
      (#/sha256/[A-Za-z0-9+/]{43}=/#, "sha256/…"), (#/[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}Z/#, "DATE"),
    ]
  }

  mutating func add<E: Error>(_ errors: E...) { for error in errors { add(one: error) } }

  /// Adds what the calls throw. One that throws nothing is a failure of the test.
  mutating func provoke(
    _ calls: (() throws -> Any)..., sourceLocation: SourceLocation = #_sourceLocation
  ) {
    for (index, call) in calls.enumerated() {
      do {
        _ = try call()
        Issue.record("call \(index + 1) throws nothing", sourceLocation: sourceLocation)
      } catch {
        add(one: error)
      }
    }
  }

  /// Adds what the call throws.
  mutating func provoke(
    sourceLocation: SourceLocation = #_sourceLocation, later call: () async throws -> Any
  ) async {
    do {
      _ = try await call()
      Issue.record("it throws nothing", sourceLocation: sourceLocation)
    } catch {
      add(one: error)
    }
  }

  mutating func add(one error: any Error) { add("\(type(of: error))".prefix { $0 != "<" }, "\(error)") }

  mutating func add(_ name: some StringProtocol, _ text: String) {
    let masked = masks.reduce(text) { $0.replacing($1.0, with: $1.1) }
    #expect(ErrorLine.free.contains(String(name)) || !masked.contains("\n"), "\(masked)")
    let line = "\(name) | \(masked.replacing("\n", with: "\\n"))"
    if !lines.contains(line) { lines.append(line) }
  }
}
