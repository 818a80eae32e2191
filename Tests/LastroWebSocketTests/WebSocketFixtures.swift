// SPDX-License-Identifier: Apache-2.0

import Lastro
import LastroStreamsTesting
import LastroTesting
import LastroWebSocket
import Testing

/// A client of a loopback server in memory. Its time stands still unless a test moves it, or has the real one.
func webSocketClient(
  _ behavior: LoopbackWebSocketBehavior = LoopbackWebSocketBehavior(),
  record: LoopbackWebSocketRecord = LoopbackWebSocketRecord(), shape: MemoryStream.Shape = MemoryStream.Shape(),
  clock: ManualClock? = ManualClock(), _ configure: (inout WebSocketConfiguration) -> Void = { _ in }
) -> WebSocketClient {
  webSocketClient(
    over: LoopbackWebSocketServer.dialer(shape: shape, record: record, behavior), clock: clock, configure)
}

/// A client over a dialer.
func webSocketClient(
  over dialer: any Dialer, clock: ManualClock? = ManualClock(),
  _ configure: (inout WebSocketConfiguration) -> Void = { _ in }
) -> WebSocketClient {
  var configuration = WebSocketConfiguration()
  configuration.keepAlive = nil
  configure(&configuration)
  var stack = StackConfiguration()
  if let clock { stack.timeSource = clock.timeSource }
  return WebSocketClient(dialer: dialer, configuration: configuration, stack: stack)
}

/// The last state of a socket.
func end(of socket: WebSocket) async -> WebSocketState? {
  var last: WebSocketState?
  for await state in socket.states { last = state }
  return last
}

/// All messages up to the end.
func collect(_ socket: WebSocket) async throws -> [WebSocketMessage] {
  var result: [WebSocketMessage] = []
  for try await message in socket.messages { result.append(message) }
  return result
}

extension WebSocketError {
  /// The case's name alone.
  var word: String { String("\(reason)".prefix { $0 != "(" }) }
}

/// Records an issue where a test can only end.
func fails(_ text: String) { Issue.record(Comment(rawValue: text)) }
