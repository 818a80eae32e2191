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

  /// A failure for people: the page on a refused server, else message and hint; and why there was no further attempt.
  static func tell(_ failure: Report.Failure, hint: String?, trust: TrustFailure? = nil, retryEnd: Retry.End? = nil) {
    var text = trust.map { "\($0)" } ?? failure.message
    if let retryEnd { text += "\n  not retried: \(retryEnd)" }
    if trust == nil, let hint { text += "\n  hint: \(hint)" }
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
}
