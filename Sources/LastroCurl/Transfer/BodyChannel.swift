// SPDX-License-Identifier: Apache-2.0

internal import Lastro

#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

/// A bounded hand-over of body bytes from the loop thread to one asynchronous reader.
///
/// The loop stops receiving when `capacity` bytes lie here, and goes on when the reader has taken them: memory per
/// stream is bounded however slow the reader is.
final class BodyChannel: Sendable {
  typealias Chunk = Result<Data?, TransportError>

  private struct State {
    var buffered = Data()
    var isPaused = false
    var end: Result<Void, TransportError>?
    var facts: TransferFacts?
    var reader: CheckedContinuation<Chunk, Never>?
  }

  private let capacity: Int
  private let state = Lock(State())

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
      guard state.buffered.count < capacity else {
        state.isPaused = true
        return (false, nil)
      }
      state.buffered.append(contentsOf: bytes)
      return (true, nil)
    }
    if let (continuation, chunk) = reader { continuation.resume(returning: .success(chunk)) }
    return accepted
  }

  /// Reader's side. `resume` is called when the loop waits for room.
  func take(resume: @Sendable () -> Void) async -> Chunk {
    await withCheckedContinuation { continuation in
      enum Effect { case now(Chunk, mustResume: Bool), later }
      let effect: Effect = state.withLock { state in
        if !state.buffered.isEmpty, !Self.isFailure(state.end) {
          let chunk = state.buffered
          state.buffered = Data()
          defer { state.isPaused = false }
          return .now(.success(chunk), mustResume: state.isPaused)
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
      if Self.isFailure(end) { state.buffered = Data() }
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
