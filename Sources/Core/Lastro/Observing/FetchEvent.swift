// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials

/// An event in a call, as reported to a ``FetchObserver``.
public struct FetchEvent: Sendable {
  /// The kind of an event. Later versions may add kinds: a `switch` needs an `@unknown default`.
  @nonexhaustive
  public enum Kind: Sendable {
    /// The call began.
    case callStarted
    /// An attempt began.
    case attemptStarted(number: Int)
    /// The complete and validated request is passed to the transport. It contains credentials.
    case transferStarted(ResourceRequest)
    /// The transport responded, with the collected body unless it is streamed; or it failed.
    case transferEnded(Result<Answer, TransportError>)
    /// An attempt ended.
    case attemptEnded(Attempt)
    /// Another attempt will follow after a delay.
    case retryScheduled(delay: Duration, source: Attempt.DelaySource, reason: String)
    /// The call ended with the response or the error that the caller receives.
    case callEnded(Result<ResourceResponse, HTTPFetchError<any Error>>)
    /// The body of a stream ended: it was read to its end, failed, or was abandoned. `bytes` is the number of bytes
    /// that the reader received. `error` is the reason why the body is not complete; the cancelled error if it was
    /// abandoned. `facts` are those of the whole transfer, if they are known.
    case bodyEnded(bytes: Int64, error: TransportError?, facts: TransferFacts?)
  }

  /// The response of the transport.
  public struct Answer: Sendable {
    /// The head, the URL and the facts.
    public var response: ResourceResponse
    /// The body if it was collected; `nil` if it is streamed.
    public var body: Data?
  }

  /// The end of a stream's body.
  package struct BodyEnd: Sendable {
    /// The number of bytes that the reader received.
    package var bytes: Int64
    /// The reason why the body is not complete; the cancelled error if it was abandoned.
    package var error: TransportError?
    /// The facts of the whole transfer, if they are known.
    package var facts: TransferFacts?

    /// Creates the end of a body.
    package init(bytes: Int64, error: TransportError? = nil, facts: TransferFacts? = nil) {
      self.bytes = bytes
      self.error = error
      self.facts = facts
    }
  }

  /// The kind of event, with its values.
  public var kind: Kind
  /// The identifier of the call within the process.
  public var callID: UInt64 = 0
  /// The number of the attempt; 0 before the first.
  public var attempt = 1
  /// The number of redirects followed in the attempt.
  public var hop = 0
  /// The operation of the resource (``RequestOptions/operation``).
  public var operation: String?
  /// Whether the body is streamed.
  public var isStream = false
  /// The time of the event on the stack's clock (``TimeSource/now``).
  public var time = Duration.zero
  /// The time of the event since 1970 (``TimeSource/sinceEpoch``).
  public var sinceEpoch = Duration.zero
}
