// SPDX-License-Identifier: Apache-2.0

import Lastro
import LastroTesting
import Testing

/// A client of a loopback server in memory.
func webSocketClient(
  _ behavior: LoopbackWebSocketBehavior = LoopbackWebSocketBehavior(),
  record: LoopbackWebSocketRecord = LoopbackWebSocketRecord(), shape: MemoryStream.Shape = MemoryStream.Shape(),
  clock: ManualClock? = nil, _ configure: (inout WebSocketConfiguration) -> Void = { _ in }
) -> WebSocketClient {
  var configuration = WebSocketConfiguration()
  configuration.keepAlive = nil
  configure(&configuration)
  var stack = StackConfiguration()
  if let clock { stack.timeSource = clock.timeSource }
  return WebSocketClient(
    dialer: LoopbackWebSocketServer.dialer(shape: shape, record: record, behavior), configuration: configuration,
    stack: stack)
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
