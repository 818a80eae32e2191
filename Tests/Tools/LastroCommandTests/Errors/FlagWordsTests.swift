// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import LastroCommand

/// Hints of the library in the words of the command line. The golden files beside the tests of all targets have every
/// hint that the library can give.
@Suite("Hints of the command line")
struct FlagWordsTests {
  /// Texts of parts that the program has no use for.
  private static let unused = [
    // Interceptors, sources of tokens and signers are made in Swift.
    "OAuth2", "authenticator", "allowsInsecureTokenURL", "RequestAuthenticator", "interceptor", "Idempotency",
    ".generatedKey",
    // So are stacks, endpoints, dialers and connections.
    "StackConfiguration", "baseURL", "ConnectionFactory", "onReopen", "finishWriting", "application", "NowhereDialer",
    "trustJudge", "ServerTrustJudge", "make a new stack", "localInterface", "nil if", "nil for", "give nil",
    // Resilience, egress, batches, uploads, multipart answers, recordings, scripts, operations.
    "CircuitBreakerPolicy", "ConcurrencyLimiter", "EgressPolicy", "egress", "minimumCalls", "PacingPolicy",
    "MultipartLimits", "HARRecorder", "ScriptedTransport", "Operation", "sendsDigests", "DoHResolver",
    "lines(maximumBytes",
    "JSONStreamOptions", "NoContent", "have it throw", "TransportError", "stream of", "a stream's length",
    "close() ends",
    ".deliver", "authentication .none", "or nil", ".tls12", ".fail", ".direct", ".loose", "CertificateCheck",
    ".hostPort",
    ".tcp", "idleLifetime", "maximum", "perSecond", "failureRatio", "connectTimeout",
    // Members of the files of --pin-policy, which are written as Swift writes them.
    "includeSubdomains", "allowNotPinnedDomains", "enforceBackupPin", "ipAddress", "domainName", "ServerTrustEvaluator",
    "PinningPolicy", "afterExpiration", ".never", "reportOnly", "sha256/",
  ]

  /// What looks like a name of Swift.
  private static var swift: Regex<Substring> {
    #/\b[a-z]+[A-Z][A-Za-z]*|\b[A-Z][A-Za-z]+[a-z]\.[a-z]+|(?:^| )\.[a-z]+|\bnil\b/#
  }

  private static var hints: [String] {
    get throws {
      let tests = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()
      let files = try #require(FileManager.default.enumerator(at: tests, includingPropertiesForKeys: nil))
      var hints: Set<String> = []
      for case let file as URL in files where file.lastPathComponent.hasSuffix("ErrorTexts.txt") {
        for line in try String(contentsOf: file, encoding: .utf8).split(separator: "\n") {
          guard line.contains("Error | "), line.hasSuffix(")") else { continue }
          // A hint may have parentheses of its own.
          var depth = 0
          let start = line.indices.reversed().first { index in
            depth += line[index] == ")" ? 1 : line[index] == "(" ? -1 : 0
            return depth == 0
          }
          if let start { hints.insert(String(line[line.index(after: start)...].dropLast())) }
        }
      }
      return hints.sorted()
    }
  }

  /// Each hint that changes, and each row of the table that no golden file has a hint for.
  private static var golden: [String] {
    get throws {
      let hints = try Self.hints
      let changed = hints.map { ($0, FlagWords.text($0)) }.filter { $0 != $1 }
      let others = FlagWords.table.filter { row in !hints.contains { $0.contains(row.library) } }
      return (changed + others.map { ($0.library, $0.program) }).map { "\($0) → \($1)" }
    }
  }

  @Test("Hints read as FlagWords.txt beside this file has them; LASTRO_RENEW=1 writes it anew")
  func goldenFile() throws {
    let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "FlagWords.txt")
    let made = try Self.golden
    if ProcessInfo.processInfo.environment["LASTRO_RENEW"] == "1" {
      try Data((made.joined(separator: "\n") + "\n").utf8).write(to: file)
      Issue.record("\(file.path()) was written anew: read what changed, then run without LASTRO_RENEW")
      return
    }
    let kept = try String(contentsOf: file, encoding: .utf8).split(separator: "\n").map(String.init)
    #expect(made.difference(from: kept).isEmpty)
  }

  @Test("No hint that the program can print speaks of Swift's names")
  func allHints() throws {
    let hints = try Self.hints
    #expect(hints.count > 300)
    for hint in hints where !Self.unused.contains(where: hint.contains) || FlagWords.text(hint) != hint {
      let text = FlagWords.text(hint)
      #expect(text.firstMatch(of: Self.swift) == nil, "\(hint) → \(text)")
    }
  }

  @Test(
    "Hints name the flag that does what they say",
    arguments: [
      ("raise Timeouts.total, or find what made it wait", "raise -m, or find what made it wait"),
      ("raise Timeouts.idle if such a pause is meant", "raise --idle-timeout if such a pause is meant"),
      ("raise maximumBodyBytes, or stream the body", "raise --max-filesize"),
      ("set httpVersion to .http1", "use --http1.1"),
      (
        "the credentials are missing, wrong or expired: look at the request's authenticator",
        "the credentials are missing, wrong or expired: look at -u, --bearer and -H"
      ),
    ])
  func examples(library: String, program: String) {
    #expect(FlagWords.text(library) == program)
  }
}
