// SPDX-License-Identifier: Apache-2.0

internal import Lastro
internal import LastroWire

#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

/// The body of a request as a connection asks for it, from memory or through its channel.
///
/// Owner: the connection that carries the job, under its lock.
struct UploadSource {
  enum Supply {
    case bytes(Data)
    case end
    /// Nothing at the moment: the job's ``ExchangeJob/resumeSending()`` follows.
    case wait
    case failed(TransportError)
  }

  private let job: ExchangeJob
  private var body: RequestBody { job.request.body }
  /// Bytes that were taken.
  private(set) var offset: Int64 = 0

  init(_ job: ExchangeJob) { self.job = job }

  /// Starts what fills the channel, if there is one; once.
  func start() { job.upload?.start { [weak job] in job?.resumeSending() } }

  /// Whether all of it lies in memory.
  var isInMemory: Bool { job.upload == nil }

  /// Whether it can be sent from its beginning again.
  var canRewind: Bool { isInMemory || offset == 0 }

  /// What follows the last byte, once ``next(upTo:)`` has given the end.
  var trailers: [ResponseHead.Field] { job.upload?.trailers ?? [] }

  mutating func next(upTo maximum: Int) -> Supply {
    switch body.source {
    case .empty: return .end
    case .bytes(let data):
      let piece = data.dropFirst(Int(offset)).prefix(maximum)
      offset += Int64(piece.count)
      return piece.isEmpty ? .end : .bytes(piece)
    case .file, .stream: return nextOfChannel(maximum)
    }
  }

  private mutating func nextOfChannel(_ maximum: Int) -> Supply {
    guard let upload = job.upload else { return .end }
    // Whatever came after the announced length would be read as the next request.
    let rest = body.length.map { Int(clamping: $0 - offset) } ?? maximum
    guard rest > 0 else { return .end }
    var taken = UploadChannel.Supply.end
    var data = Data(count: min(maximum, rest))
    data.withUnsafeMutableBytes { taken = upload.read(into: $0) }
    switch taken {
    case .bytes(let count):
      offset += Int64(count)
      return .bytes(data.prefix(count))
    case .end:
      guard let length = body.length else { return .end }
      return .failed(.sourceTooShort(offset, of: length))
    case .wait: return .wait
    case .failed(let error): return .failed(error.afterSending)
    }
  }

  // MARK: The end of a body of announced length

  // No byte beyond the announced length is sent, so that a source with more would be cut and pass for whole: it is
  // asked once more, and the request succeeds when it says that this was all.

  /// Whether the source has neither ended nor given more than was announced.
  var awaitsEnd: Bool {
    if case .wait = supplyAtEnd { true } else { false }
  }

  /// Why the request fails although all that was announced was sent.
  var failureAtEnd: TransportError? {
    switch supplyAtEnd {
    case .bytes: .sourceTooLong(body.length ?? 0).afterSending
    case .failed(let error): error.afterSending
    case .end, .wait, nil: nil
    }
  }

  private var supplyAtEnd: UploadChannel.Supply? {
    guard let upload = job.upload, let length = body.length, offset == length else { return nil }
    return upload.peek()
  }
}
