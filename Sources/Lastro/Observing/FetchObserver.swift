// SPDX-License-Identifier: Apache-2.0

public import HTTPTypes

/// Watches calls, and can break none: it returns nothing that a call depends on, but fields that propagate a trace.
///
/// The events of one call come one after another, in this order; those of different calls mingle.
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
/// Every start gets its end, whatever happens: failure, cancellation, a deadline, a body that is never read. A call
/// that ended well has a successful attempt; one that is cancelled after that attempt ended fails nonetheless.
public protocol FetchObserver: Sendable {
  /// Told of an event, on the task of the call (of ``FetchEvent/Kind-swift.enum/bodyEnded(_:)``: on any thread). The
  /// call waits for it, so that what takes long is to be handed over.
  func observe(_ event: FetchEvent)

  /// Header fields that carry a trace on, such as `traceparent`: set on the request whose start was told last, as it
  /// goes out, behind interceptors and signers. Default: none.
  func propagationFields(callID: UInt64, attempt: Int) -> HTTPFields
}

extension FetchObserver {
  /// The default: no fields are added to requests.
  public func propagationFields(callID: UInt64, attempt: Int) -> HTTPFields { HTTPFields() }
}
