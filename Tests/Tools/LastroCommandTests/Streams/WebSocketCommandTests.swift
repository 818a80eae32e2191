// SPDX-License-Identifier: Apache-2.0

import Foundation
import LastroStreamsTesting
import LastroTesting
import PeerSupport
import TestSupport
import Testing

@Suite("lastro ws", .peers(.dante, .webSocket), .timeLimit(.minutes(15)))
struct WebSocketCommandTests {
  @Test("Lines are sent as messages and messages printed as lines, and the end of input closes the socket")
  func lines() async throws {
    let server = try LoopbackWebSocketServer()
    let result = try await Lastro.run(["ws", server.url], input: "one\n\nthree\r\nfour")
    #expect(result.status == 0, "\(result.errors)")
    #expect(result.text == "one\n\nthree\nfour\n")
    let events = try await server.record.waitForEvents(count: 6)
    #expect(events.contains(.close(1000, "")))
    #expect(!events.contains { if case .violation = $0 { true } else { false } })
  }

  @Test("Python's websockets: a compressed echo, a close with a code, and a cut connection are handled")
  func realServer() async throws {
    let base = "ws://127.0.0.1:\(try Peers.webSocket.port)"
    let text = (0..<500).map { "message \($0) " + String(repeating: "x", count: $0 * 7) + "\n" }.joined()
    for flags in [[], ["--deflate", "--deflate-minimum", "0"]] {
      let result = try await Lastro.run(["ws", "--wait", "5", "\(base)/echo"] + flags, input: text)
      #expect(result.status == 0, "\(result.errors)")
      #expect(result.text == text)
    }
    let closed = try await Lastro.run(["ws", "--echo", "\(base)/close"])
    #expect(closed.status == 0, "\(closed.errors)")
    #expect(closed.errors.contains("4001: go"))
    #expect(try await Lastro.run(["ws", "--echo", "\(base)/cut"]).status == 56)
  }

  @Test("If libcrypto refuses SHA-1, as under FIPS, the error names it, and says what to do")
  func withoutSHA1() async throws {
    let server = try LoopbackWebSocketServer()
    let file = FileManager.default.temporaryDirectory.appending(path: "lastro-\(UUID().uuidString).cnf")
    let text = "openssl_conf = init\n[init]\nalg_section = evp\n[evp]\ndefault_properties = fips=yes\n"
    try Data(text.utf8).write(to: file)
    defer { try? FileManager.default.removeItem(at: file) }
    let result = try await Lastro.run(["ws", server.url], environment: ["OPENSSL_CONF": file.path()])
    #expect(result.status == 56, "\(result.errors)")
    #expect(result.errors.contains("libcrypto refuses SHA-1"), "\(result.errors)")
    #expect(result.errors.contains("hint: allow it in OpenSSL's configuration"), "\(result.errors)")
  }

  @Test("Header fields, subprotocol and compression are offered")
  func offers() async throws {
    var behavior = LoopbackWebSocketBehavior()
    behavior.subprotocol = "chat"
    behavior.compression = .init()
    let server = try LoopbackWebSocketServer(behavior)
    let text = String(repeating: "compress me ", count: 1_000)
    let result = try await Lastro.run(
      ["ws", "-H", "X-Colour: blue", "--subprotocol", "chat", "--deflate", "--ping", "0", server.url], input: text)
    #expect(result.status == 0, "\(result.errors)")
    #expect(result.text == text + "\n")
    let fields = try #require(server.record.handshakes.first).head.fields
    #expect(fields.contains { $0.name.lowercased() == "x-colour" && $0.value == "blue" })
    #expect(fields.contains { $0.name.lowercased() == "sec-websocket-protocol" && $0.value == "chat" })
    #expect(fields.contains { $0.name.lowercased() == "sec-websocket-extensions" })
  }

  @Test("--echo sends every message back until the server closes")
  func echo() async throws {
    var behavior = LoopbackWebSocketBehavior()
    behavior.greeting = [.text("eins"), .binary([0, 1, 2]), .text("drei")]
    behavior.onMessage = { $0 == .text("drei") ? [.close(1000, "done")] : [] }
    let server = try LoopbackWebSocketServer(behavior)
    let result = try await Lastro.run(["ws", "--echo", server.url])
    #expect(result.status == 0, "\(result.errors)")
    let events = try await server.record.waitForEvents(count: 5)
    #expect(Array(events[1...3]) == [.text("eins"), .binary([0, 1, 2]), .text("drei")])
  }

  @Test("A refused handshake, a cut connection, and a protocol violation are failures")
  func failures() async throws {
    var refusing = LoopbackWebSocketBehavior()
    refusing.onHandshake = { _ in LoopbackResponse(status: 403) }
    var cutting = LoopbackWebSocketBehavior()
    cutting.greeting = [.text("half"), .cut]
    var breaking = LoopbackWebSocketBehavior()
    breaking.greeting = [.fault(.maskedFrame)]
    let wrong = { () -> LoopbackWebSocketBehavior in
      var behavior = LoopbackWebSocketBehavior()
      behavior.handshake = .wrongAccept
      return behavior
    }()
    for (behavior, status) in [(refusing, 22), (cutting, 56), (breaking, 56), (wrong, 56)] {
      let server = try LoopbackWebSocketServer(behavior)
      let result = try await Lastro.run(["ws", "--echo", server.url])
      #expect(result.status == Int32(status), "\(result.errors)")
    }
  }

  @Test("A close with an error code is reported as such and as clean")
  func errorCode() async throws {
    var behavior = LoopbackWebSocketBehavior()
    behavior.greeting = [.close(1011, "on fire")]
    let server = try LoopbackWebSocketServer(behavior)
    let result = try await Lastro.run(["ws", "--echo", server.url])
    #expect(result.status == 0, "\(result.errors)")
    #expect(result.errors.contains("1011: on fire"))
  }

  @Test("Wss works with pins through a SOCKS 5 proxy", .needsDante)
  func secure() async throws {
    let lab = try PinnedServers()
    let leaf = try lab.leaf("localhost")
    let server = try LoopbackWebSocketServer(tls: LoopbackTLS(leaf))
    let via = ["--via", "socks5://127.0.0.1:\(try Peers.dante.port)"]
    for way in [[], via] {
      for (pin, status) in [(try PinnedServers.pin(leaf), 0), (PinnedServers.absent, 60)] {
        let result = try await Lastro.run(
          ["ws", server.url, "--pin", "localhost=\(pin)"] + lab.trust + way, input: "secret\n")
        #expect(result.status == Int32(status), "\(way) \(result.errors)")
        #expect(result.text == (status == 0 ? "secret\n" : ""))
      }
    }
  }

  @Test("Bytes that are not text are refused as text and sent with --binary")
  func binary() async throws {
    let server = try LoopbackWebSocketServer()
    let line = Data([0xFF, 0xFE, 0x0A])
    #expect(try await Lastro.run(["ws", server.url], input: line).status == 1)
    let result = try await Lastro.run(["ws", "--binary", server.url], input: line)
    #expect(result.status == 0, "\(result.errors)")
    #expect(result.output == line)
  }
}
