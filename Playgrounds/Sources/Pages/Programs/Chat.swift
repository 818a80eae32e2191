// SPDX-License-Identifier: Apache-2.0

import Lastro
import LastroCurl
import LastroWebSocket

/// A chat for the terminal. Each line is a message, `/ping` measures the round-trip time, and `/quit` or the end of the
/// input closes the chat.
///
/// `swift run --package-path Playgrounds Pages chat wss://example.org/room [NAME]`
struct Chat: Sendable {
  let client: WebSocketClient
  let url: String
  /// The name shown before each message; `nil` for none.
  let name: String?
  let terminal: Terminal

  static func run(_ arguments: [String]) async -> Int32 {
    guard let url = arguments.first, arguments.count <= 2 else {
      say("usage: Pages chat URL [NAME]")
      return 64
    }
    var configuration = WebSocketConfiguration()
    configuration.compression = .init()
    let client = WebSocketClient(dialer: CurlNetworkStack.sharedDialer, configuration: configuration)
    return await Chat(client: client, url: url, name: arguments.dropFirst().first, terminal: .standard).run()
  }

  /// Runs the chat, and returns the exit status: 0 if both sides closed the chat cleanly, else 1.
  func run() async -> Int32 {
    do throws(WebSocketError) {
      let socket = try await client.connect(url)
      terminal.show("* connected to \(url); /ping measures, /quit ends")
      let typing = Task { await type(into: socket) }
      defer { typing.cancel() }
      for try await message in socket.messages {
        switch message {
        case .text(let text): terminal.show(harmless(text))
        case .binary(let data): terminal.show("* \(data.count) bytes")
        }
      }
      return try await ending(of: socket)
    } catch {
      terminal.show("* \(error)")
      return 1
    }
  }

  private func type(into socket: WebSocket) async {
    for await line in terminal.lines {
      do throws(WebSocketError) {
        switch line {
        case "/quit":
          try await socket.close()
          return
        case "/ping":
          let roundTrip = try await socket.ping()
          terminal.show("* the server is \(roundTrip) away")
        case "": continue
        default: try await socket.send(name.map { "\($0): \(line)" } ?? line)
        }
      } catch {
        // The loop that reads messages reports the end of the socket.
        if !socket.isOpen { return }
        terminal.show("* \(error)")
      }
    }
    _ = try? await socket.close()
  }

  private func ending(of socket: WebSocket) async throws(WebSocketError) -> Int32 {
    let close = try await socket.waitForEnd()
    let code = close.code.map { "code \($0)" } ?? "no code"
    terminal.show("* closed with \(code)\(close.reason.isEmpty ? "" : ": " + harmless(close.reason))")
    return close.isClean ? 0 : 1
  }
}
