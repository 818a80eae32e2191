// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

/// Reads the calls in this folder: between `// call: NAME` and `// end`, with the same call of others as comments,
/// `// CLIENT: CODE`, which goes on behind `//` and three blanks. A call that none of them has says so in brackets.
///
/// Length is counted in words: names, keywords and literals. What things are called does not make a call long.
@Suite("The length of everyday calls")
struct CallLengthTests {
  struct Call: CustomTestStringConvertible {
    var name: String
    var statements: [String] = []
    var rivals: [(client: String, code: String)] = []

    var testDescription: String { name }
    var isUnrivalled: Bool { CallLengthTests.unrivalled.contains { name.hasPrefix($0 + " (") } }

    static func words(_ code: String) -> Int {
      code.matches(of: #/"(?:[^"\\]|\\.)*"|[A-Za-z_][A-Za-z0-9_]*|[0-9][0-9_.]*/#).count
    }
  }

  static let calls: [Call] = [
    "EverydayCallsTests.swift", "FeatureCallsTests.swift", "PinnedCallsTests.swift",
  ].flatMap { name in
    let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: name)
    return calls(in: (try? String(contentsOf: file, encoding: .utf8)) ?? "")
  }

  static func calls(in source: String) -> [Call] {
    var calls: [Call] = []
    var call: Call?
    for line in source.split(separator: "\n").map({ $0.drop { $0 == " " } }) {
      if let start = line.wholeMatch(of: /\/\/ call: (.+)/) {
        call = Call(name: String(start.1))
      } else if line == "// end" {
        if let call { calls.append(call) }
        call = nil
      } else if let rival = line.wholeMatch(of: /\/\/ (Alamofire|OkHttp|Get|AsyncHTTPClient): (.+)/) {
        call?.rivals.append((String(rival.1), String(rival.2)))
      } else if let more = line.wholeMatch(of: /\/\/   (.+)/), let last = call?.rivals.indices.last {
        call?.rivals[last].code += " " + more.1
      } else {
        call?.statements.append(String(line))
      }
    }
    return calls
  }

  /// Calls that none of the others has; what they have instead stands behind the name.
  static let unrivalled: Set = [
    "a one-off GET with a typed error", "an API key, for its origin alone",
    "a PATCH with an Idempotency-Key that all its attempts carry", "JSON lines", "pages by Link",
    "a Gemini request with the stack's pins",
  ]

  @Test("the calls of all files are found, and those without a rival among them")
  func found() {
    #expect(Self.calls.count == 28)
    #expect(Self.calls.filter(\.isUnrivalled).count == Self.unrivalled.count)
  }

  @Test("a call has three statements at most, and no more words than the shortest of the others", arguments: calls)
  func length(call: Call) {
    #expect((1...3).contains(call.statements.count))
    #expect(call.rivals.isEmpty == call.isUnrivalled)
    let length = call.statements.reduce(0) { $0 + Call.words($1) }
    for rival in call.rivals {
      #expect(length <= Call.words(rival.code), "\(rival.client): \(rival.code)")
    }
  }

  /// What Lastro has no call for.
  static let missing: Set = ["gzip of a request's body"]

  @Test("what is missing has no call")
  func absent() { #expect(Self.missing.isDisjoint(with: Self.calls.map(\.name))) }
}
