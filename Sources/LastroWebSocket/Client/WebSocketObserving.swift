// SPDX-License-Identifier: Apache-2.0

internal import Lastro

#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

/// One who reads what comes in. It holds the socket, and frees its place when it is dropped.
final class WebSocketObserver: Sendable {
  fileprivate struct Assembly {
    var kind: WebSocketMessage.Kind?
    var data = Data()
  }

  private let socket: WebSocket
  private let id: UInt64
  /// The message that is being put together; kept over a cancelled wait.
  private let assembly = Lock(Assembly())

  private var monitor: Monitor<WebSocketCore.State> { socket.core.monitor }

  init(_ socket: WebSocket) {
    self.socket = socket
    id = socket.core.monitor.change { $0.log.join() }
  }

  deinit { monitor.change { $0.log.leave(id) } }

  func nextFragment() async throws(WebSocketError) -> WebSocketFragment? {
    while true {
      let step: Result<WebSocketFragment?, WebSocketError>? = monitor.change { state in
        if let piece = state.log.next(for: id) { return .success(piece) }
        switch state.current {
        case .open, .closing: return nil
        case .closed: return .success(nil)
        case .failed(let error): return .failure(error)
        }
      }
      if let step { return try step.get() }
      guard await monitor.wait(until: { [id] in $0.log.hasNext(for: id) || $0.isEnded }) else { throw .cancelled }
    }
  }

  func nextMessage() async throws(WebSocketError) -> WebSocketMessage? {
    let limit = socket.core.configuration.maximumMessageBytes
    while let piece = try await nextFragment() {
      let outcome: Result<WebSocketMessage?, WebSocketError> = assembly.withLock { $0.add(piece, limit: limit) }
      if let message = try outcome.get() { return message }
    }
    return nil
  }
}

extension WebSocketObserver.Assembly {
  /// The message, when the piece ends it.
  fileprivate mutating func add(
    _ piece: WebSocketFragment, limit: Int
  ) -> Result<WebSocketMessage?, WebSocketError> {
    if piece.isFirst {
      kind = piece.kind
      data = Data()
    }
    // Of a message that had begun before the observer came, the rest is nothing.
    guard kind != nil else { return .success(nil) }
    guard piece.data.count <= limit - data.count else {
      kind = nil
      data = Data()
      return .failure(
        WebSocketError(
          .messageTooLarge, "a message has more than \(limit) bytes", hint: "read fragments, or raise the limit"))
    }
    if piece.isFirst, piece.isFinal { data = piece.data } else { data.append(piece.data) }
    guard piece.isFinal else { return .success(nil) }
    defer {
      kind = nil
      data = Data()
    }
    return .success(piece.kind == .text ? .text(String(decoding: data, as: UTF8.self)) : .binary(data))
  }
}
