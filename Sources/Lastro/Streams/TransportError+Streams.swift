// SPDX-License-Identifier: Apache-2.0

package import LastroSupport

/// What streams of every kind refuse.
extension TransportError {
  /// A call on a stream that was closed on this side.
  package static var streamClosed: Self {
    Self(
      stage: .request, code: .streamClosed, message: "the stream is closed on our side",
      hint: "dial anew; dropping the last reference to a stream closes it")
  }

  /// A second reader, or a second writer.
  package static var streamBusy: Self {
    Self(
      stage: .request, code: .operationInProgress, message: "another task uses this direction of the stream",
      hint: "one reader and one writer at a time")
  }

  /// A read of no byte, or of less.
  package static func emptyRead(_ maximum: Int) -> Self {
    .refused(
      .invalidOption, "the read asks for \(maximum) bytes, below the minimum of 1", hint: "ask for at least one byte")
  }

  /// A read or a write whose task is cancelled, or whose timeout passed.
  package static func interrupted(
    _ wait: Interruption, _ what: String = "no byte moved", within limit: Duration?
  ) -> Self {
    wait == .cancelled ? .cancelled(requestSent: true) : .idleStream(what, within: limit)
  }

  /// The timeout of a read or a write passed.
  package static func idleStream(_ what: String = "no byte moved", within limit: Duration?) -> Self {
    Self(
      stage: .timeout, code: .idleTimeout, message: "\(what) within \(limit?.brief ?? "its timeout")",
      hint: "raise the timeout of the call", requestSent: true)
  }
}

extension Turns {
  /// - Throws: stage `request`, code `operation_in_progress`, where another task has the turn.
  package mutating func begin(_ turn: Turns) throws(TransportError) {
    guard insert(turn).inserted else { throw .streamBusy }
  }
}
