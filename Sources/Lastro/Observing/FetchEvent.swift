// SPDX-License-Identifier: Apache-2.0

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// Something that happened in a call, as a ``FetchObserver`` is told.
public struct FetchEvent: Sendable {
  /// What happened. Other kinds may come: a `switch` needs an `@unknown default`.
  @nonexhaustive
  public enum Kind: Sendable {
    /// The call began.
    case callStarted
    /// An attempt began.
    case attemptStarted(number: Int)
    /// A request, final and checked, is handed to the transport. It holds credentials.
    case transferStarted(ResourceRequest)
    /// The transport answered, with the collected body where it is not streamed; or failed.
    case transferEnded(Result<Answer, TransportError>)
    /// An attempt ended.
    case attemptEnded(Attempt)
    /// There will be another attempt, after a delay.
    case retryScheduled(delay: Duration, source: Attempt.DelaySource, reason: String)
    /// The call ended: with the response, or the error, that the caller gets.
    case callEnded(Result<ResourceResponse, HTTPFetchError<any Error>>)
    /// The body of a stream ended: read to its end, failed, or given up.
    case bodyEnded(BodyEnd)
  }

  /// What the transport brought.
  public struct Answer: Sendable {
    /// Head, URL, facts.
    public var response: ResourceResponse
    /// The body, where it was collected; `nil` for one that is streamed.
    public var body: Data?

    /// Makes an answer.
    public init(response: ResourceResponse, body: Data?) {
      self.response = response
      self.body = body
    }
  }

  /// How the body of a stream ended.
  public struct BodyEnd: Sendable {
    /// Bytes that the reader got.
    public var bytes: Int64
    /// Why it did not come to its end; the cancelled error when it was given up.
    public var error: TransportError?
    /// Facts of the whole transfer, where they are known.
    public var facts: TransferFacts?

    /// Makes an end.
    public init(bytes: Int64, error: TransportError? = nil, facts: TransferFacts? = nil) {
      self.bytes = bytes
      self.error = error
      self.facts = facts
    }
  }

  /// What happened, with the values that belong to it.
  public var kind: Kind
  /// Names the call within the process.
  public var callID: UInt64
  /// Number of the attempt; 0 before the first.
  public var attempt: Int
  /// Number of redirects followed in the attempt.
  public var hop: Int
  /// ``RequestOptions/operation`` of the resource.
  public var operation: String?
  /// Whether the body is streamed.
  public var isStream: Bool
  /// When it happened, on the stack's clock (``TimeSource/now``).
  public var time: Duration
  /// When it happened, since 1970 (``TimeSource/sinceEpoch``).
  public var sinceEpoch: Duration

  /// Makes an event; for tests of observers.
  public init(
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
