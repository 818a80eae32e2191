// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FoundationEssentials
import Glibc
import Lastro

/// Text to the standard streams, whole lines at a time.
enum Console {
  /// - Throws: when it cannot be written: a full disk, a closed pipe.
  static func out(_ line: String) throws(BodySink.WriteFailure) {
    try BodySink.writeAll(Data((line + "\n").utf8), to: STDOUT_FILENO)
  }

  /// What is left to do when standard output fails.
  static func give(up error: BodySink.WriteFailure) -> ExitCode {
    Self.error("lastro: \(error)")
    return error.isTimeout ? ExitStatus.of(.timeout) : ExitCode(1)
  }

  /// Prints a failure for people: the page on a refused server, else message and hint; and the reason why there was no
  /// further attempt.
  ///
  /// - Parameters:
  ///   - ledger: the account of the call, which has that reason.
  ///   - body: what the server said in the body of a refusal, where it is printed nowhere else.
  static func tell(
    _ failure: Report.Failure, hint: String?, trust: TrustFailure? = nil, ledger: AttemptLedger? = nil,
    body: BodySnippet? = nil
  ) {
    var text = trust.map { "\($0)" } ?? FlagWords.text(failure.message)
    if let ledger, let end = ledger.retryEnd {
      text += "\n  not retried\(ledger.attempts.count > 1 ? " again" : ""): \(FlagWords.text("\(end)"))"
    }
    if let body, !body.text.isEmpty {
      text += "\n  the server says: \(body.text.split(whereSeparator: \.isNewline).joined(separator: "\n    "))"
    }
    if trust == nil, let hint { text += "\n  hint: \(FlagWords.text(hint))" }
    error("lastro: \(failure.stage)/\(failure.code): \(text)")
  }

  /// What is configured on the command line, or in a file it names.
  ///
  /// - Throws: the exit status of stage `request` where it cannot be used, which is told.
  static func checked<T>(_ work: () throws -> T) throws -> T {
    do {
      return try work()
    } catch let error as ConfigurationError {
      tell(.init(error), hint: nil)
      throw ExitStatus.of(.request)
    } catch let error as TransportError where error.stage == .request {
      tell(.init(error.stage, error.code, error.message), hint: error.hint)
      throw ExitStatus.of(.request)
    }
  }

  static func error(_ line: String) { try? BodySink.writeAll(Data((line + "\n").utf8), to: STDERR_FILENO) }
  static var errorIsTerminal: Bool { isatty(STDERR_FILENO) == 1 }

  /// Whether standard output and standard error are the same file: a terminal, or by `2>&1`.
  static var outputsMeet: Bool {
    var output = stat()
    var error = stat()
    guard fstat(STDOUT_FILENO, &output) == 0, fstat(STDERR_FILENO, &error) == 0 else { return false }
    return output.st_dev == error.st_dev && output.st_ino == error.st_ino
  }
}
