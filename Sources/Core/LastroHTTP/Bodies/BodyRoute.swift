// SPDX-License-Identifier: Apache-2.0

package import HTTPTypes
package import Lastro
package import LastroWire

/// The destination of a response body, as decided from the request and the head, and how much of the body is accepted.
package struct BodyRoute {
  /// A destination of body bytes.
  package enum Sink {
    case undecided
    /// Into memory. `cuts`: whether an excess is dropped instead of failing, for the bodies of error responses.
    case collect(limit: Int, cuts: Bool)
    case stream(limit: Int?)
    /// The body is read and discarded, because no caller wants it.
    case drop
  }

  /// The maximum number of body bytes that are read only so that the connection can be reused.
  private static let drainedBytes: Int64 = 64 * 1024
  /// The number of bytes that were read for that reason.
  private var dropped: Int64 = 0

  package private(set) var response: HTTPResponse?
  /// The status of the response; 0 until it has arrived.
  package private(set) var status = 0
  package private(set) var framing = ResponseFraming()
  /// Whether a body may follow the head (RFC 9110 §6.4.1).
  package private(set) var mayHaveBody = false
  package var sink = Sink.undecided
  /// Whether the rest of the body is not wanted.
  package var wasCut = false
  /// The reason why the collected bytes are not the whole body.
  package var cut: BodyCut?

  /// Records the final head.
  ///
  /// - Parameter status: the status of the response, passed because reading it from the response is slow.
  package mutating func note(
    _ response: HTTPResponse, status: Int, _ framing: ResponseFraming, toHead isHead: Bool
  ) {
    mayHaveBody = !isHead && status != 204 && status != 304
    self.response = response
    self.status = status
    self.framing = framing
  }

  /// Decides the destination from the request and the status.
  ///
  /// - Throws: an error if the head announces more than is accepted.
  package mutating func decide(_ request: TransferRequest, status: Int) throws(TransportError) {
    let isSuccess = (200..<300).contains(status), mostOfError = request.maximumErrorBytes ?? .max
    switch request.delivery {
    case .collected(let limit):
      sink = .collect(limit: isSuccess ? limit : min(limit, mostOfError), cuts: !isSuccess)
    case .streamed(let limit): sink = .stream(limit: limit)
    case .streamedOnSuccess(let limit, let errorBytes):
      sink = isSuccess ? .stream(limit: limit) : .collect(limit: min(errorBytes, mostOfError), cuts: true)
    }
    try checkLength()
  }

  /// Checks the announced length. It says nothing about a coded body, whose limit applies to the decoded bytes.
  private func checkLength() throws(TransportError) {
    guard let length, !framing.hasContentEncoding else { return }
    switch sink {
    case .collect(let limit, cuts: false) where length > Int64(limit): throw .bodyTooLarge(limit, announced: length)
    case .stream(let limit?) where length > Int64(limit): throw .bodyTooLarge(limit, announced: length)
    default: return
    }
  }

  /// Whether a body is announced of which no byte is wanted, and whose absence is not a failure.
  var wantsNothing: Bool {
    if case .collect(limit: 0, cuts: true) = sink { announcesBody } else { false }
  }

  /// Accepts the response without reading its body.
  package mutating func cutAtHead() {
    sink = .collect(limit: 0, cuts: true)
    wasCut = true
    if announcesBody { cut = .unread }
  }

  // These properties are inlinable because their callers would otherwise copy the route to read them.

  /// The `Content-Length` of a response that has a body.
  @inlinable package var length: Int64? { mayHaveBody ? framing.contentLength : nil }

  /// Whether the head is followed, or may be followed, by a body of at least one byte.
  var announcesBody: Bool { mayHaveBody && framing.contentLength != 0 }

  /// Whether the body is short enough to be read so that the connection can be reused. A chunked body may be short. A
  /// body that ends with its connection is never worth reading.
  package var leavesLittle: Bool {
    length.map { $0 <= Self.drainedBytes } ?? (!announcesBody || framing.isChunked)
  }

  @inlinable package var isStream: Bool { if case .stream = sink { true } else { false } }

  /// Whether a head with a status outside 200–299 has arrived whose body is collected.
  @inlinable package var isErrorAnswer: Bool {
    if case .collect(_, cuts: true) = sink { response != nil } else { false }
  }

  /// Returns how many bytes of a piece of `count` bytes are accepted, after `taken` bytes. If these are not all, the
  /// body is cut.
  ///
  /// - Throws: the reason why the body cannot be accepted.
  package mutating func share(of count: Int, behind taken: Int64) throws(TransportError) -> Int {
    switch sink {
    case .undecided: throw .bodyBeforeHead
    case .collect(let limit, let cuts) where Int64(count) > Int64(limit) - taken:
      guard cuts else { throw .bodyTooLarge(limit) }
      wasCut = true
      cut = .limit(limit)
      return Int(max(0, Int64(limit) - taken))
    case .stream(let limit?) where Int64(count) > Int64(limit) - taken: throw .bodyTooLarge(limit)
    case .drop:
      dropped += Int64(count)
      // The limit for reading a body only to reuse its connection.
      guard dropped > Self.drainedBytes else { return count }
      wasCut = true
      return 0
    case .collect, .stream: return count
    }
  }

  /// Returns the number of bytes to reserve before the first of several pieces is collected; `nil` for no reservation.
  /// An announced length reserves at most 1 MiB.
  package func reservation(beyond count: Int) -> Int? {
    guard case .collect(let limit, _) = sink, let length = framing.contentLength, length > Int64(count),
      !framing.hasContentEncoding
    else { return nil }
    return min(limit, Int(clamping: length), 1 << 20)
  }

  /// Returns the failure to report. For a response outside 200–299 the status matters, so a cut body does not count as
  /// a failure of it; the cut is recorded.
  package mutating func weigh(_ found: TransportError) -> TransportError? {
    guard isErrorAnswer, [.send, .response, .limit].contains(found.stage) else { return found }
    cut = BodyCut(found)
    return nil
  }
}
