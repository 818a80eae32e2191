// SPDX-License-Identifier: Apache-2.0

import Foundation
import Lastro
import LastroSupport
import PeerSupport
import TestSupport
import Testing

@testable import LastroEveryday

/// What is said of cookies that are refused, of lines that set none, of files and of limits, as `CookieErrorTexts.txt`
/// beside this file has it.
@Suite("Error texts of cookies", .timeLimit(.minutes(5)))
struct CookieErrorTextsTests {
  private static let file = URL(filePath: #filePath).deletingLastPathComponent()
    .appending(path: "CookieErrorTexts.txt")

  @Test("are those of the file; LASTRO_RENEW=1 writes it anew")
  func golden() throws {
    let texts = Self.refusals() + Self.lines() + (try Self.files()) + Self.limits() + (try Self.notes())
    try expectGolden(texts.map { $0 + "\n" }.joined(), keptIn: Self.file)
  }

  private static func refusals() -> [String] {
    let cookie = Cookie("a", "hunter2", domain: "a.com")
    return CookieRefusal.allCases.map { "CookieError | \(CookieError($0, of: cookie))" }
      + ["CookieError | \(CookieError(.nameless, of: Cookie("", "x", domain: "a.com")))"]
  }

  private static func lines() -> [String] {
    let text = "a\nb\tTRUE\t/\tno\t0\tn\tv\nb\tTRUE\t/\tTRUE\tx\tn\tv\n.co.uk\tTRUE\t/\tTRUE\t0\tn\tv\n"
    return TestJar().jar.importNetscape(text).map { "CookieImportProblem | \($0)" }
  }

  private static func files() throws -> [String] {
    let directory = try PeerDirectory()
    let notes = try directory.write("export PATH=/bin\n", to: "notes")
    let attempts: [() throws -> Void] = [
      { _ = try CookieFile(path: "").load() }, { _ = try CookieFile(path: notes).load() },
      { _ = try CookieFile(path: directory.path).load() }, { _ = try CookieFile(path: notes + "/x").load() },
      { try CookieFile(path: directory.file("no/x")).save([]) }, { try CookieFile(path: directory.path).save([]) },
      { throw CookieError(.tooLarge(PrivateFile.maximumBytes + 1), notes) },
    ]
    return attempts.compactMap { attempt in
      do { try attempt() } catch {
        return "CookieError | \("\(error)".replacing(directory.path, with: "FOLDER"))"
      }
      return nil
    }
  }

  private static func limits() -> [String] {
    let attempts: [() throws -> Void] = [
      { _ = try CookieRules(maximumCookiesPerDomain: 49) }, { _ = try CookieRules(maximumCookies: 2_000_000) },
      { _ = try CookieRules(maximumFieldBytes: 1) },
    ]
    return attempts.compactMap { attempt in
      do { try attempt() } catch { return "ConfigurationError | \(error)" }
      return nil
    }
  }

  /// What is told of cookies that are no errors.
  private static func notes() throws -> [String] {
    let jar = TestJar()
    var texts: [String] = []
    for line in ["a=1", "a=1", "a=1; Max-Age=0", "a=1; Max-Age=0", "x", "\u{1}"] {
      texts += try jar.jar.receive([line], from: "https://a.com/").map { "CookieVerdict | \($0)" }
    }
    return texts + ["CookieJar | \(jar.jar)", "Cookie | \(Cookie("", "x", domain: "a.com", isHostOnly: false))"]
  }
}
