// SPDX-License-Identifier: Apache-2.0

public import HTTPTypes

/// Observes calls. An observer cannot break a call: it returns nothing that a call depends on, except fields that
/// propagate a trace.
///
/// The events of one call are reported sequentially in this order; the events of different calls are interleaved.
///
/// ```
/// callStarted
///   attemptStarted                      once or more
///     transferStarted                   not where no request could be made; again for every redirect
///     transferEnded
///   attemptEnded
///   retryScheduled                      before another attempt, unless the wait for it is cancelled
/// callEnded
/// bodyEnded                             of a stream that was opened
/// ```
///
/// Every start event is followed by its end event, also after a failure, a cancellation or a deadline, and if a body is
/// never read. A call that succeeded has a successful attempt. A call that is cancelled after that attempt ended still
/// fails.
public protocol FetchObserver: Sendable {
  /// Receives an event, on the task of the call; ``FetchEvent/Kind-swift.enum/bodyEnded(bytes:error:facts:)`` may be
  /// reported on any thread. The call waits for the return, so pass long work to another task.
  func observe(_ event: FetchEvent)

  /// Returns header fields that propagate a trace, such as `traceparent`. They are set on the request that was most
  /// recently reported as started, before it is sent and after all interceptors and signers. Default: none.
  func propagationFields(callID: UInt64, attempt: Int) -> HTTPFields
}

extension FetchObserver {
  /// Returns no fields, by default.
  public func propagationFields(callID: UInt64, attempt: Int) -> HTTPFields { HTTPFields() }
}
