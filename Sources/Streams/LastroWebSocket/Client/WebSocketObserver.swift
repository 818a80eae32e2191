// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Lastro
internal import LastroSupport
internal import LastroWire

/// A reader of received messages. It retains the socket, and unregisters itself when it is dropped.
final class WebSocketObserver: Sendable {
  fileprivate struct Assembly {
    var kind: WebSocketKind?
    var bytes: [UInt8] = []
  }

  private let socket: WebSocket
  private let id: UInt64
  /// The message that is being assembled; it survives a cancelled wait.
  private let assembly = Lock(Assembly())

  init(_ socket: WebSocket) {
    self.socket = socket
    id = socket.core.change { state, _ in state.session.join() }
  }

  deinit { socket.core.change { [id] in $0.session.leave(id, now: $1) } }

  private func nextPiece() async throws(WebSocketError) -> WebSocketPiece? {
    let step = await socket.core.wait(for: .pieces) {
      [id] state, now -> Result<WebSocketPiece?, WebSocketError>? in
      if let piece = state.session.next(for: id, now: now) { return .success(piece) }
      switch state.session.state {
      case .open, .closing: return nil
      case .closed: return .success(nil)
      // This read may itself complete the end of the session, which the state does not show yet.
      case .failed(let failure): return .failure(state.error(failure))
      }
    }
    guard let step else { throw .cancelled }
    return try step.get()
  }

  func nextFragment() async throws(WebSocketError) -> WebSocketFragment? {
    guard let piece = try await nextPiece() else { return nil }
    return WebSocketFragment(
      isText: piece.kind == .text, data: Data(piece.bytes), isFirst: piece.isFirst, isFinal: piece.isFinal)
  }

  func nextMessage() async throws(WebSocketError) -> WebSocketMessage? {
    let limit = socket.core.configuration.maximumMessageBytes
    while let piece = try await nextPiece() {
      let outcome: Result<WebSocketMessage?, WebSocketError> = assembly.withLock { $0.add(piece, limit: limit) }
      if let message = try outcome.get() { return message }
    }
    return nil
  }
}

extension WebSocketObserver.Assembly {
  /// Adds a piece; returns the message if the piece ends it.
  fileprivate mutating func add(_ piece: WebSocketPiece, limit: Int) -> Result<WebSocketMessage?, WebSocketError> {
    if piece.isFirst {
      kind = piece.kind
      bytes = []
    }
    // Skip the rest of a message that began before the observer joined.
    guard kind != nil else { return .success(nil) }
    guard piece.bytes.count <= limit - bytes.count else {
      self = .init()
      return .failure(
        .tooLong(limit))
    }
    if piece.isFirst, piece.isFinal { bytes = piece.bytes } else { bytes += piece.bytes }
    guard piece.isFinal else { return .success(nil) }
    defer { self = .init() }
    return .success(piece.kind == .text ? .text(String(decoding: bytes, as: UTF8.self)) : .binary(Data(bytes)))
  }
}
