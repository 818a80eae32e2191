// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FoundationEssentials
import Glibc
import Lastro
import LastroCurl
internal import LastroWebSocket
import Synchronization

struct WebSocketCommand: StreamingCommand {
  static let configuration = CommandConfiguration(
    commandName: "ws",
    abstract: "Speaks WebSocket: sends lines of standard input as messages, and prints received messages.",
    discussion: """
      After the end of standard input, the socket is closed with code 1000 once the server has sent nothing for --wait \
      seconds: many servers discard unsent messages when a Close frame arrives. Messages that arrive before the server \
      closes are printed.

      EXIT STATUS: 0 when both sides closed the socket, else as of fetch: 22 for a refused handshake, 56 for a lost \
      connection or a server that violated the protocol.
      """)

  @Argument(help: "URL, ws or wss.")
  var url: String
  @Option(
    name: [.customShort("H"), .customLong("header")],
    help: "Header field of the handshake as 'Name: value'. Repeatable.")
  var headers: [String] = []
  @Option(help: "Subprotocol to offer. Repeatable, best first.")
  var subprotocol: [String] = []
  @Flag(help: "Offer compression (permessage-deflate).")
  var deflate = false
  @Option(
    name: .customLong("deflate-minimum"),
    help: "Minimum number of bytes of a message that --deflate compresses. Default 1024.")
  var deflateMinimum: Int?
  @Option(help: "Seconds between pings; 0 for none. Default 25.")
  var ping: Double = 25
  @Flag(help: "Send every message back until the server closes; standard input is not read.")
  var echo = false
  @Option(help: "Seconds without a message, after the end of input, before the socket is closed. Default 0.5.")
  var wait: Double = 0.5
  @Flag(help: "Send lines as binary messages.")
  var binary = false
  @Option(name: .customLong("max-message"), help: "Maximum number of bytes of a received message. Default 64 MiB.")
  var maxMessage = 64 << 20
  @OptionGroup var connection: ConnectionFlags
  @OptionGroup var pins: PinFlags
  @OptionGroup var identity: IdentityFlags
  @OptionGroup var way: ViaFlags

  func validate() throws {
    guard ping >= 0, ping <= 86_400 else {
      throw ValidationError("--ping \(ping) is out of range; give 0 to 86400 seconds.")
    }
    if let deflateMinimum {
      guard deflate else { throw ValidationError("--deflate-minimum needs --deflate.") }
      guard deflateMinimum >= 0 else {
        throw ValidationError("--deflate-minimum \(deflateMinimum) is out of range; give 0 or more.")
      }
    }
    guard wait >= 0, wait <= 86_400 else {
      throw ValidationError("--wait \(wait) is out of range; give 0 to 86400 seconds.")
    }
    guard maxMessage > 0 else {
      throw ValidationError("--max-message \(maxMessage) is out of range; give a positive number.")
    }
  }

  func run() async throws {
    let fields = try headers.map(RequestFlags.header)
    let session = try CommandSession(self)
    let client = try Console.checked { try self.client(session.dialer) }
    try await session.run { _ in
      let socket = try await client.connect(url, headers: RawHeaders(fields))
      try await echo ? sendBack(socket) : talk(socket)
    }
  }

  private func client(_ dialer: any Dialer) throws -> WebSocketClient {
    var configuration = WebSocketConfiguration()
    configuration.subprotocols = subprotocol
    if deflate { configuration.compression = .init(minimumBytes: deflateMinimum ?? 1024) }
    configuration.keepAlive = ping > 0 ? .seconds(ping) : nil
    configuration.maximumMessageBytes = maxMessage
    var stack = StackConfiguration()
    // A server that accepts the connection and does not respond must not block the program.
    let connect = try connectTimeout() ?? .seconds(10)
    stack.timeouts = try Timeouts(connect: connect, attempt: nil, idle: .seconds(60), total: .seconds(60) + connect)
    return WebSocketClient(dialer: dialer, configuration: configuration, stack: stack)
  }

  private func sendBack(_ socket: WebSocket) async throws {
    do {
      for try await message in socket.messages { try await socket.send(message) }
    } catch {
      guard case .closed = error.reason else { throw error }
    }
    try await Self.waitForCleanClose(of: socket)
  }

  /// Transfers in both directions until the socket is closed.
  private func talk(_ socket: WebSocket) async throws {
    let received = Atomic<Int>(0)
    let sending = Task { [binary, wait] in
      var lines = StandardInputLines()
      while let line = try await lines.next() {
        if binary {
          try await socket.send(line)
        } else if let text = String(validating: line, as: UTF8.self) {
          try await socket.send(text)
        } else {
          throw StandardInputReader.ReadFailure(description: "a line is not UTF-8; --binary sends bytes as they are")
        }
      }
      // A pong shows that the server's immediate responses have been received.
      _ = try? await socket.ping(within: .seconds(2))
      var seen = -1
      while case let count = received.load(ordering: .relaxed), count != seen {
        seen = count
        try await Task.sleep(for: .seconds(wait))
      }
      try await socket.close()
    }
    defer { sending.cancel() }
    // If standard input cannot be read, nothing else would close the socket.
    let watching = Task {
      if case .failure(let error) = await sending.result, error is StandardInputReader.ReadFailure { socket.cut() }
    }
    defer { watching.cancel() }
    do {
      for try await message in socket.messages {
        try ResponseOutput.writeAll(message.data + Data([0x0A]), to: STDOUT_FILENO)
        received.add(1, ordering: .relaxed)
      }
    } catch let error as WebSocketError {
      sending.cancel()
      if case .failure(let failure as StandardInputReader.ReadFailure) = await sending.result { throw failure }
      throw error
    }
    try await Self.waitForCleanClose(of: socket)
  }

  /// Waits for the end of the socket, and throws an error unless it closed cleanly.
  private static func waitForCleanClose(of socket: WebSocket) async throws {
    let close = try await socket.waitForEnd()
    guard close.isClean else {
      let what =
        close.initiator == .local
        ? "the server did not answer the Close frame" : "the server closed, and could not be answered"
      throw TransportError(stage: .response, code: .connectionLost, message: what, requestSent: true)
    }
    if let code = close.code, code != .normal, code != .goingAway {
      Console.error(
        "lastro: the server closed with code \(code)\(close.reason.isEmpty ? "" : ": \(close.reason.onOneLine)")")
    }
  }
}
