// SPDX-License-Identifier: Apache-2.0

package import FoundationEssentials
package import Lastro
internal import LastroSupport

/// A bounded hand-over of body bytes from the loop thread to one asynchronous reader.
///
/// The loop stops receiving when `capacity` bytes are unread, and resumes when the reader has taken half: memory
/// per body stream is bounded however slow the reader is, and a fast one does not stop and start the loop for every
/// piece.
package final class BodyChannel: Sendable {
  package typealias Chunk = Result<Data?, TransportError>

  private struct State {
    /// The unread bytes, in order; no piece is empty. One buffer for all would be moved whenever it grows.
    var pieces: [BodyPiece] = []
    var count = 0
    /// Bytes that came in all.
    var total: Int64 = 0
    /// The memory that the loop receives into.
    var spare: BodyPiece?
    var isPaused = false
    /// Whether the loop knows that it has something for the reader that waits.
    var isAnnounced = false
    var end: Result<Void, TransportError>?
    var facts: TransferFacts?
    var reader: CheckedContinuation<Chunk, Never>?

    mutating func append(_ bytes: UnsafeRawBufferPointer, _ store: BodyPieceStore) {
      count += bytes.count
      total += Int64(bytes.count)
      // Not for a little, which would keep memory for much.
      if bytes.count >= BodyPiece.maximumBytes / 4, let spare,
        spare.space.baseAddress == bytes.baseAddress.map({ UnsafeMutableRawPointer(mutating: $0) })
      {
        self.spare = nil
        spare.fill(bytes.count)
        return pieces.append(spare)
      }
      if let last = pieces.last, last.append(bytes) { return }
      // For a slow body stream not much more than came; for a fast one a whole piece. Each has twice the room of the
      // one before it, so that a body in tiny chunks does not become as many pieces.
      let room = min(BodyPiece.maximumBytes, max(4 * bytes.count, 2 * (pieces.last?.count ?? 0)))
      let piece = BodyPiece(capacity: max(bytes.count, room), store: store)
      _ = piece.append(bytes)
      pieces.append(piece)
    }

    mutating func takePiece() -> BodyPiece? {
      if pieces.isEmpty { return nil }
      let piece = pieces.removeFirst()
      count -= piece.count
      return piece
    }

    /// Returns whether the loop, which waits for room, must resume.
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

  /// A large body that comes fast is handed over in parts of so much.
  private static let bulkBytes = 256 * 1024
  private let capacity: Int
  private let store: BodyPieceStore
  private let state = Lock(State())

  package init(capacity: Int) {
    self.capacity = capacity
    store = BodyPieceStore(bytes: capacity)
  }

  package var finalFacts: TransferFacts? { state.withLock { $0.facts } }
  package var isFinished: Bool { state.withLock { $0.end != nil } }
  /// Bytes that lie here.
  var count: Int { state.withLock { $0.count } }
  /// Whether the loop has stopped receiving because of a slow reader.
  var isPaused: Bool { state.withLock { $0.isPaused } }

  /// The outcome of offering bytes.
  package enum Offer {
    case taken
    /// For a reader that waits: to be followed by ``handOver(resume:)`` before the loop sleeps.
    case takenForReader
    /// There was no room, but what bounds them bounds memory too: a resume follows when there is some.
    case takenBeyond
    /// The channel is full, and the same bytes must be offered again after a resume.
    case full
  }

  /// Loop side.
  ///
  /// - Parameter isBounded: whether no more can come than the server was allowed to send.
  package func offer(_ bytes: UnsafeRawBufferPointer, isBounded: Bool = false) -> Offer {
    state.withLock { state in
      if state.end != nil { return .taken }  // cancelled: swallow, the loop is about to hear of it
      let hasRoom = state.count < capacity
      guard hasRoom || isBounded else {
        state.isPaused = true
        return .full
      }
      state.append(bytes, store)
      guard hasRoom else {
        state.isPaused = true
        return .takenBeyond
      }
      guard state.reader != nil, !state.isAnnounced else { return .taken }
      state.isAnnounced = true
      return .takenForReader
    }
  }

  /// Loop side. Whether bytes would be taken; if not, a resume follows when there is room.
  package func hasRoom() -> Bool {
    state.withLock { state in
      if state.end != nil || state.count < capacity { return true }
      state.isPaused = true
      return false
    }
  }

  /// Loop side. Memory that bytes may be received into before they are offered; they are not copied then. `nil` where
  /// there is no room.
  package func space() -> UnsafeMutableRawBufferPointer? {
    state.withLock { state in
      guard state.end == nil, state.count < capacity else { return nil }
      let spare = state.spare ?? BodyPiece(capacity: BodyPiece.maximumBytes, store: store)
      state.spare = spare
      return spare.space
    }
  }

  /// Loop side. Whether more is likely to come at once, of a large body: its reader may wait for it a moment.
  package var isGathering: Bool {
    let enough = min(Self.bulkBytes, capacity / 2)
    return state.withLock {
      !$0.isPaused && $0.total >= 1 << 20 && $0.count >= BodyPiece.maximumBytes / 2 && $0.count < enough
    }
  }

  /// Loop side. Gives the reader that waits what has come. `resume` is called when the loop waits for room, and there
  /// is some.
  package func handOver(resume: () -> Void) {
    let delivery: (CheckedContinuation<Chunk, Never>, BodyPiece, Bool)? = state.withLock { state in
      state.isAnnounced = false
      guard let reader = state.reader, let piece = state.takePiece() else { return nil }
      state.reader = nil
      return (reader, piece, state.mustResume(capacity))
    }
    guard let (reader, piece, mustResume) = delivery else { return }
    if mustResume { resume() }
    reader.resume(returning: .success(piece.data()))
  }

  /// Reader's side. `resume` is called when the loop waits for room, and there is some.
  package func take(resume: @Sendable () -> Void) async -> Chunk {
    if let chunk = takeNow(resume, nil) { return chunk }
    return await withCheckedContinuation { continuation in
      if let chunk = takeNow(resume, continuation) { continuation.resume(returning: chunk) }
    }
  }

  /// Returns what has come; where nothing has, `reader` waits for it.
  private func takeNow(_ resume: () -> Void, _ reader: CheckedContinuation<Chunk, Never>?) -> Chunk? {
    enum Now { case piece(BodyPiece, mustResume: Bool), chunk(Chunk), later }
    let now: Now = state.withLock { state in
      if let piece = state.takePiece() { return .piece(piece, mustResume: state.mustResume(capacity)) }
      switch state.end {
      case .success: return .chunk(.success(nil))
      case .failure(let error): return .chunk(.failure(error))
      case nil: break
      }
      if state.reader != nil {
        return .chunk(
          .failure(.twoReaders))
      }
      state.reader = reader
      return .later
    }
    switch now {
    case .later: return nil
    case .chunk(let chunk): return chunk
    case .piece(let piece, let mustResume):
      if mustResume { resume() }
      return .success(piece.data())
    }
  }

  /// Ends the body stream once; later calls only add facts.
  package func finish(_ end: Result<Void, TransportError>, facts: TransferFacts? = nil) {
    let waiting: (CheckedContinuation<Chunk, Never>, BodyPiece?)? = state.withLock { state in
      if state.facts == nil { state.facts = facts }
      guard state.end == nil else { return nil }
      state.end = end
      if Self.drops(end) { state.removeAll() }
      guard let reader = state.reader else { return nil }
      state.reader = nil
      return (reader, state.takePiece())
    }
    guard let (reader, piece) = waiting else { return }
    reader.resume(returning: piece.map { .success($0.data()) } ?? end.map { nil })
  }

  /// Returns whether unread bytes are of no use: the reader has left, or its time is over. A cut-off body is read up
  /// to the cut, and what came before it fell silent up to there: of a stream of events each one counts.
  private static func drops(_ end: Result<Void, TransportError>) -> Bool {
    guard case .failure(let error) = end else { return false }
    return error.stage != .response && error.code != .idleTimeout
  }
}
