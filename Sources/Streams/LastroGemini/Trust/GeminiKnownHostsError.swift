// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Lastro
internal import LastroSupport

/// The reason why known hosts cannot be read or stored. A client reports it as stage `trust`, code
/// `known_hosts_failed`.
package struct GeminiKnownHostsError: Error, Sendable, Hashable, CustomStringConvertible {
  /// A line that cannot be parsed.
  package struct Line: Sendable, Hashable {
    /// The line number, from 1.
    package var number: Int
    /// The problem with the line.
    package var problem: String
  }

  /// The problem.
  package var message: String
  /// A remedy.
  package var hint: String?
  /// The lines of a file that cannot be parsed; at most the first hundred.
  package var lines: [Line]

  /// Creates an error, for custom stores.
  package init(_ message: String, hint: String? = nil, lines: [Line] = []) {
    self.message = message
    self.hint = hint
    self.lines = lines
  }

  /// The message and the hint on one line.
  package var description: String { message + (hint.map { " (\($0))" } ?? "") }
}

extension GeminiKnownHostsError {
  init(_ failure: PrivateFile.Failure, _ path: String) {
    switch failure {
    case .system(let words, let reason, let hint): self.init("\(words) \(path): \(reason)", hint: hint)
    case .unfit:
      self.init("\(path) is not a file of known hosts", hint: "name a regular file of at most 16 MiB")
    case .notText: self.init("\(path) is not UTF-8", hint: "name a file of known hosts, or fix it")
    case .tooLarge(let count):
      self.init("the known hosts for \(path) have \(count) bytes, above the maximum of 16 MiB", hint: "remove hosts")
    }
  }
}
