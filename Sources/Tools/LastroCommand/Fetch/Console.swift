// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FoundationEssentials
import Glibc
import Lastro

/// Writes text to the standard streams, whole lines at a time.
enum Console {
  /// - Throws: an error if the line cannot be written, for example to a full disk or a closed pipe.
  static func out(_ line: String) throws(ResponseOutput.WriteFailure) {
    try ResponseOutput.writeAll(Data((line + "\n").utf8), to: STDOUT_FILENO)
  }

  /// Prints a failure for people: the message and the hint, or a refused server's description, and the reason why there
  /// was no further attempt.
  ///
  /// - Parameters:
  ///   - ledger: the ledger of the call, which contains that reason.
  ///   - body: the server's text in the body of an error response, unless it is printed elsewhere.
  static func tell(
    _ failure: Report.Failure, trust: TrustFailure? = nil, ledger: AttemptLedger? = nil, body: BodySnippet? = nil
  ) {
    var text = trust.map { "\($0)" } ?? HintWords.text(failure.message)
    if let ledger, let end = ledger.retryEnd {
      text += "\n  not retried\(ledger.attempts.count > 1 ? " again" : ""): \(HintWords.text("\(end)"))"
    }
    if let body, !body.text.isEmpty {
      text += "\n  the server says: \(body.text.split(whereSeparator: \.isNewline).joined(separator: "\n    "))"
    }
    if trust == nil, let hint = failure.hint { text += "\n  hint: \(HintWords.text(hint))" }
    error("lastro: \(failure.stage.rawValue)/\(failure.code): \(text)")
  }

  /// Runs work that depends on the command line, or on a file named there.
  ///
  /// - Throws: the exit status of stage `request` for an invalid configuration, after printing the error.
  static func checked<T>(_ work: () throws -> T) throws -> T {
    do {
      return try work()
    } catch let error where error is ConfigurationError || (error as? TransportError)?.stage == .request {
      tell(.init(error))
      throw ExitStatus.of(.request)
    }
  }

  static func error(_ line: String) { try? ResponseOutput.writeAll(Data((line + "\n").utf8), to: STDERR_FILENO) }
  static var errorIsTerminal: Bool { isatty(STDERR_FILENO) == 1 }

  /// Whether standard output and standard error are the same file: a terminal, or through `2>&1`.
  static var outputsMeet: Bool {
    var output = stat()
    var error = stat()
    guard fstat(STDOUT_FILENO, &output) == 0, fstat(STDERR_FILENO, &error) == 0 else { return false }
    return output.st_dev == error.st_dev && output.st_ino == error.st_ino
  }
}
