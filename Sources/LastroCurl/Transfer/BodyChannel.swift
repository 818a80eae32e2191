// SPDX-License-Identifier: Apache-2.0

internal import Lastro

#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

/// A bounded hand-over of body bytes from the loop thread to one asynchronous reader.
///
/// The loop stops receiving when `capacity` bytes lie here, and goes on when the reader has taken half of them: memory per
/// stream is bounded however slow the reader is, and a fast one does not stop and start the loop for every piece.
final class BodyChannel: Sendable {
  typealias Chunk = Result<Data?, TransportError>

  private struct State {
    /// What lies here, first come first; none is empty. One buffer for all would be moved whenever it grows.
    var pieces: [Data] = []
    var count = 0
    var isPaused = false
    /// Whether the loop knows that it has something for the reader that waits.
    var isAnnounced = false
    var end: Result<Void, TransportError>?
    var facts: TransferFacts?
    var reader: CheckedContinuation<Chunk, Never>?

    mutating func append(_ bytes: UnsafeRawBufferPointer) {
      count += bytes.count
      if let last = pieces.indices.last, pieces[last].count + bytes.count <= BodyChannel.pieceBytes {
        pieces[last].append(contentsOf: bytes)
        return
      }
      // Of a slow stream not much more than came; of a fast one a whole piece.
      var piece = Data(capacity: max(bytes.count, min(BodyChannel.pieceBytes, 4 * bytes.count)))
      piece.append(contentsOf: bytes)
      pieces.append(piece)
    }

    mutating func takePiece() -> Data? {
      if pieces.isEmpty { return nil }
      let piece = pieces.removeFirst()
      count -= piece.count
      return piece
    }

    /// Whether the loop, which waits for room, is to go on.
    mutating func mustResume(_ capacity: Int) -> Bool {
      guard isPaused, count <= capacity / 2 else { return false }
      isPaused = false
      return true
    }

    mutating func removeAll() {
      pieces = []
      count = 0
    }
  }

  /// What a reader that lags is given at once, at most.
  private static let pieceBytes = 64 * 1024
  private let capacity: Int
  private let state = EngineLock(State())

  init(capacity: Int) { self.capacity = capacity }

  var finalFacts: TransferFacts? { state.withLock { $0.facts } }
  var isFinished: Bool { state.withLock { $0.end != nil } }
  /// Whether the loop has stopped receiving because of a slow reader.
  var isPaused: Bool { state.withLock { $0.isPaused } }

  /// What becomes of bytes that the loop offers.
  enum Offer {
    case taken
    /// For a reader that waits: to be followed by ``handOver(resume:)`` before the loop sleeps.
    case takenForReader
    /// The channel is full, and the same bytes must be offered again after a resume.
    case full
  }

  /// Loop side.
  func offer(_ bytes: UnsafeRawBufferPointer) -> Offer {
    state.withLock { state in
      if state.end != nil { return .taken }  // cancelled: swallow, the loop is about to hear of it
      guard state.count < capacity else {
        state.isPaused = true
        return .full
      }
      state.append(bytes)
      guard state.reader != nil, !state.isAnnounced else { return .taken }
      state.isAnnounced = true
      return .takenForReader
    }
  }

  /// Loop side. Gives the reader that waits what has come. `resume` is called when the loop waits for room, and there is some.
  func handOver(resume: () -> Void) {
    let delivery: (CheckedContinuation<Chunk, Never>, Data, Bool)? = state.withLock { state in
      state.isAnnounced = false
      guard let reader = state.reader, let piece = state.takePiece() else { return nil }
      state.reader = nil
      return (reader, piece, state.mustResume(capacity))
    }
    guard let (reader, piece, mustResume) = delivery else { return }
    if mustResume { resume() }
    reader.resume(returning: .success(piece))
  }

  /// Reader's side. `resume` is called when the loop waits for room, and there is some.
  func take(resume: @Sendable () -> Void) async -> Chunk {
    await withCheckedContinuation { continuation in
      enum Effect { case now(Chunk, mustResume: Bool), later }
      let effect: Effect = state.withLock { state in
        // None is left where the stream failed.
        if let piece = state.takePiece() {
          return .now(.success(piece), mustResume: state.mustResume(capacity))
        }
        switch state.end {
        case .success: return .now(.success(nil), mustResume: false)
        case .failure(let error): return .now(.failure(error), mustResume: false)
        case nil: break
        }
        if state.reader != nil {
          return .now(
            .failure(.refused(.invalidBody, "two tasks read one body at the same time", hint: "read it from one task")),
            mustResume: false)
        }
        state.reader = continuation
        return .later
      }
      if case .now(let chunk, let mustResume) = effect {
        if mustResume { resume() }
        continuation.resume(returning: chunk)
      }
    }
  }

  /// Ends the stream once; later calls only add facts.
  func finish(_ end: Result<Void, TransportError>, facts: TransferFacts? = nil) {
    let reader: (CheckedContinuation<Chunk, Never>, Chunk)? = state.withLock { state in
      if state.facts == nil { state.facts = facts }
      guard state.end == nil else { return nil }
      state.end = end
      if Self.isFailure(end) { state.removeAll() }
      guard let reader = state.reader else { return nil }
      state.reader = nil
      return (reader, state.takePiece().map { .success($0) } ?? end.map { nil })
    }
    if let (continuation, chunk) = reader { continuation.resume(returning: chunk) }
  }

  private static func isFailure(_ end: Result<Void, TransportError>?) -> Bool {
    if case .failure = end { true } else { false }
  }
}
