// SPDX-License-Identifier: Apache-2.0

package import HTTPTypes
package import Lastro
package import LastroWire

/// The destination of a response's body, as request and head decide it, and how much of the body is taken.
package struct BodyRoute {
  /// A destination of body bytes.
  package enum Sink {
    case undecided
    /// Into memory. `cuts`: the rest is dropped instead of failing, for bodies of errors.
    case collect(limit: Int, cuts: Bool)
    case stream(limit: Int?)
    /// Read and forgotten: no caller wants the body.
    case drop
  }

  /// The part of a piece that is taken.
  package enum Share {
    case all
    /// So many, and no more of the body.
    case part(Int)
    /// None, because enough of the body was read for the sake of its connection.
    case cut
    case none(TransportError)
  }

  /// Most bytes that are read of a body for the sake of its connection alone.
  private static let drainedBytes: Int64 = 64 * 1024
  /// Bytes that were read so.
  private var dropped: Int64 = 0

  package private(set) var response: HTTPResponse?
  /// The response's status; 0 until it has come.
  package private(set) var status = 0
  package private(set) var framing = ResponseFraming()
  /// Whether a body may follow the head (RFC 9110 §6.4.1).
  package private(set) var mayHaveBody = false
  package var sink = Sink.undecided
  /// Whether the rest of the body is not wanted.
  package var wasCut = false
  /// The reason why the collected bytes are not the whole body.
  package var cut: BodyCut?

  package init() {}

  /// Notes the final head.
  ///
  /// - Parameter status: the status of the response, which is costly to read from it.
  package mutating func note(
    _ response: HTTPResponse, status: Int, _ framing: ResponseFraming, toHead isHead: Bool
  ) {
    mayHaveBody = !isHead && status != 204 && status != 304
    self.response = response
    self.status = status
    self.framing = framing
  }

  /// Decides by request and status.
  ///
  /// - Throws: where the head announces more than is taken.
  package mutating func decide(_ request: TransferRequest, status: Int) throws(TransportError) {
    let isSuccess = (200..<300).contains(status)
    switch request.delivery {
    case .collected(let limit):
      sink = .collect(limit: isSuccess ? limit : Self.least(limit, request.maximumErrorBytes), cuts: !isSuccess)
    case .streamed(let limit): sink = .stream(limit: limit)
    case .streamedOnSuccess(let limit, let errorBytes):
      sink =
        isSuccess
        ? .stream(limit: limit) : .collect(limit: Self.least(errorBytes, request.maximumErrorBytes), cuts: true)
    }
    try checkLength()
  }

  private static func least(_ limit: Int, _ other: Int?) -> Int { min(limit, other ?? limit) }

  /// The length of a coded body says nothing about what is taken of it.
  private func checkLength() throws(TransportError) {
    guard let length, !framing.hasContentEncoding else { return }
    switch sink {
    case .collect(let limit, cuts: false) where length > Int64(limit): throw .bodyTooLarge(limit, announced: length)
    case .stream(let limit?) where length > Int64(limit): throw .bodyTooLarge(limit, announced: length)
    default: return
    }
  }

  /// Whether a body is announced of which not a byte is wanted, and whose absence is no failure.
  var wantsNothing: Bool {
    if case .collect(limit: 0, cuts: true) = sink { announcesBody } else { false }
  }

  /// The body of a refusal took too long.
  mutating func cutLate() {
    wasCut = true
    cut = .late
  }

  /// Accepts the response without reading its body.
  package mutating func cutAtHead() {
    sink = .collect(limit: 0, cuts: true)
    wasCut = true
    if announcesBody { cut = .unread }
  }

  // Inlinable, or its callers would copy the route to ask it.

  /// `Content-Length` of an answer that has a body.
  @inlinable package var length: Int64? { mayHaveBody ? framing.contentLength : nil }

  /// Whether a body of at least one byte follows the head, or may.
  var announcesBody: Bool { mayHaveBody && framing.contentLength != 0 }

  /// Whether so little may follow the head that its connection is worth the reading. Chunks may be few; of a body that
  /// the connection's end ends, nothing is worth it.
  package var leavesLittle: Bool {
    length.map { $0 <= Self.drainedBytes } ?? (!announcesBody || framing.isChunked)
  }

  @inlinable package var isStream: Bool { if case .stream = sink { true } else { false } }

  /// Whether a head outside 200–299 is there, whose body is collected.
  @inlinable package var isErrorAnswer: Bool {
    if case .collect(_, cuts: true) = sink { response != nil } else { false }
  }

  /// Returns which part of a piece is taken, after `taken` bytes.
  package mutating func share(of count: Int, behind taken: Int64) -> Share {
    switch sink {
    case .undecided: return .none(.bodyBeforeHead)
    case .collect(let limit, let cuts) where Int64(count) > Int64(limit) - taken:
      guard cuts else { return .none(.bodyTooLarge(limit)) }
      wasCut = true
      cut = .limit(limit)
      return .part(Int(max(0, Int64(limit) - taken)))
    case .stream(let limit?) where Int64(count) > Int64(limit) - taken: return .none(.bodyTooLarge(limit))
    case .drop:
      dropped += Int64(count)
      guard dropped > Self.drainedBytes else { return .all }
      wasCut = true
      return .cut
    case .collect, .stream: return .all
    }
  }

  /// Bytes to have room for, before the first piece of several is collected. The server's word is worth a megabyte.
  package func reservation(beyond count: Int) -> Int? {
    guard case .collect(let limit, _) = sink, let length = framing.contentLength, length > Int64(count),
      !framing.hasContentEncoding
    else { return nil }
    return min(limit, Int(clamping: length), 1 << 20)
  }

  /// Returns the failure to report: what matters of a response outside 200–299 is its status, which a cut body
  /// must not hide.
  package mutating func weigh(_ found: TransportError) -> TransportError? {
    guard isErrorAnswer, [.send, .response, .limit].contains(found.stage) else { return found }
    cut = BodyCut(found)
    return nil
  }
}
