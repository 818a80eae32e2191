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
    /// The body of a stream ended: it was read to its end, failed, or was abandoned.
    case bodyEnded(BodyEnd)
  }

  /// The response of the transport.
  public struct Answer: Sendable {
    /// The head, the URL and the facts.
    public var response: ResourceResponse
    /// The body if it was collected; `nil` if it is streamed.
    public var body: Data?

    /// Creates an answer.
    package init(response: ResourceResponse, body: Data?) {
      self.response = response
      self.body = body
    }
  }

  /// The end of a stream's body.
  public struct BodyEnd: Sendable {
    /// The number of bytes that the reader received.
    public var bytes: Int64
    /// The reason why the body is not complete; the cancelled error if it was abandoned.
    public var error: TransportError?
    /// The facts of the whole transfer, if they are known.
    public var facts: TransferFacts?

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
  public var callID: UInt64
  /// The number of the attempt; 0 before the first.
  public var attempt: Int
  /// The number of redirects followed in the attempt.
  public var hop: Int
  /// The operation of the resource (``RequestOptions/operation``).
  public var operation: String?
  /// Whether the body is streamed.
  public var isStream: Bool
  /// The time of the event on the stack's clock (``TimeSource/now``).
  public var time: Duration
  /// The time of the event since 1970 (``TimeSource/sinceEpoch``).
  public var sinceEpoch: Duration

  /// Creates an event, for tests of observers.
  package init(
    _ kind: Kind, callID: UInt64 = 0, attempt: Int = 1, hop: Int = 0, operation: String? = nil, isStream: Bool = false,
    time: Duration = .zero, sinceEpoch: Duration = .zero
  ) {
    self.kind = kind
    self.callID = callID
    self.attempt = attempt
    self.hop = hop
    self.operation = operation
    self.isStream = isStream
    self.time = time
    self.sinceEpoch = sinceEpoch
  }
}
