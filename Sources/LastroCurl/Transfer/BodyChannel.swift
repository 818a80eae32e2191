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

  /// Loop side. False: the channel is full, and the same bytes must be offered again after a resume.
  func offer(_ bytes: UnsafeRawBufferPointer) -> Bool {
    let (accepted, reader): (Bool, (CheckedContinuation<Chunk, Never>, Data)?) = state.withLock { state in
      if state.end != nil { return (true, nil) }  // cancelled: swallow, the loop is about to hear of it
      if let reader = state.reader {
        state.reader = nil
        return (true, (reader, Data(bytes)))
      }
      guard state.count < capacity else {
        state.isPaused = true
        return (false, nil)
      }
      state.append(bytes)
      return (true, nil)
    }
    if let (continuation, chunk) = reader { continuation.resume(returning: .success(chunk)) }
    return accepted
  }

  /// Reader's side. `resume` is called when the loop waits for room, and there is some.
  func take(resume: @Sendable () -> Void) async -> Chunk {
    await withCheckedContinuation { continuation in
      enum Effect { case now(Chunk, mustResume: Bool), later }
      let effect: Effect = state.withLock { state in
        if !state.pieces.isEmpty, !Self.isFailure(state.end) {
          let piece = state.pieces.removeFirst()
          state.count -= piece.count
          let mustResume = state.isPaused && state.count <= capacity / 2
          if mustResume { state.isPaused = false }
          return .now(.success(piece), mustResume: mustResume)
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
      return (reader, end.map { nil })
    }
    if let (continuation, chunk) = reader { continuation.resume(returning: chunk) }
  }

  private static func isFailure(_ end: Result<Void, TransportError>?) -> Bool {
    if case .failure = end { true } else { false }
  }
}
