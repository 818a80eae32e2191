// SPDX-License-Identifier: Apache-2.0

package import LastroSupport

/// Errors that all kinds of streams throw.
extension TransportError {
  /// The error for a call on a stream that was closed locally.
  package static var streamClosed: Self {
    Self(
      stage: .request, code: .streamClosed, message: "the stream is closed on our side",
      hint: "dial again; dropping the last reference to a stream closes it")
  }

  /// The error for a second reader or a second writer.
  package static var streamBusy: Self {
    Self(
      stage: .request, code: .operationInProgress, message: "another task uses this direction of the stream",
      hint: "one reader and one writer at a time")
  }

  /// Returns the error for a read of less than one byte.
  package static func emptyRead(_ maximum: Int) -> Self {
    .refused(
      .invalidOption, "the read asks for \(maximum) bytes, below the minimum of 1", hint: "ask for at least one byte")
  }

  /// Returns the error for a read or write whose task was cancelled or whose timeout passed.
  package static func interrupted(
    _ wait: Interruption, _ what: String = "no byte moved", within limit: Duration?
  ) -> Self {
    wait == .cancelled ? .cancelled(requestSent: true) : .idleStream(what, within: limit)
  }

  /// Returns the error for a read or write whose timeout passed.
  package static func idleStream(_ what: String = "no byte moved", within limit: Duration?) -> Self {
    Self(
      stage: .timeout, code: .idleTimeout, message: "\(what) within \(limit?.brief ?? "its timeout")",
      hint: "raise the timeout of the call", requestSent: true)
  }
}

extension Turns {
  /// Marks a direction of the stream as in use.
  ///
  /// - Throws: an error with stage `request` and code `operation_in_progress` if another task uses that direction.
  package mutating func begin(_ turn: Turns) throws(TransportError) {
    guard insert(turn).inserted else { throw .streamBusy }
  }
}
