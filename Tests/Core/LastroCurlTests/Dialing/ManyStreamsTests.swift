// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Lastro
import LastroCurl
import LastroTesting
import TestSupport
import Testing

@Suite("Streams: many at once, and leaks", .timeLimit(.minutes(15)))
struct ManyStreamsTests {
  @Test("A thousand concurrent streams each echo their own bytes", arguments: [false, true])
  func thousand(tls: Bool) async throws {
    LoopbackServer.raiseDescriptorLimit()
    let lab = try TrustingEngine { configuration, _ in configuration.loops = 2 }
    let server = try lab.server(tls: tls, handler: { try $0.echo() })
    let count = tls ? 300 : 1_000
    let streams = try await withThrowingTaskGroup(of: (any ByteStream).self) { group in
      for _ in 0..<count { group.addTask { try await lab.dial(server) } }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    #expect(lab.dialer.activeStreams == count && lab.transport.activeTransfers == 0)
    for round in 0..<3 {
      try await withThrowingTaskGroup(of: Void.self) { group in
        for (index, stream) in streams.enumerated() {
          group.addTask {
            let sent = Data("stream \(index), round \(round)".utf8)
            try await stream.write(sent)
            #expect(try await stream.bytes(exactly: sent.count) == sent)
          }
        }
        try await group.waitForAll()
      }
    }
    // Closing every other stream leaves the rest intact, whichever multi handle they belong to.
    for (index, stream) in streams.enumerated() where index.isMultiple(of: 2) { stream.close() }
    for (index, stream) in streams.enumerated() where !index.isMultiple(of: 2) {
      try await stream.write(Data("still".utf8))
      #expect(try await stream.bytes(exactly: 5) == Data("still".utf8))
    }
    for stream in streams { stream.close() }
    #expect(await eventually { lab.dialer.activeStreams == 0 && server.openConnections == 0 })
  }

  @Test("Idle streams, including half-closed ones, stay open with their bytes while others are dialed")
  func restingStreams() async throws {
    let lab = try TrustingEngine { configuration, _ in configuration.idleLifetime = .seconds(1) }
    let server = try lab.server { connection in
      let bytes = connection.readToEnd()
      try connection.write(bytes + bytes)
    }
    let echoing = try lab.server(handler: { try $0.echo() })
    let open = try await lab.dial(echoing)
    let half = try await lab.dial(server)
    try await half.write(Data("rest".utf8))
    try await half.finishWriting()
    // libcurl checks for dead connections once a second, when it opens one. By then this one is closed in both
    // directions.
    for _ in 0..<3 {
      try await Task.sleep(for: .milliseconds(1_100))
      _ = try await lab.dial(echoing)
    }
    #expect(try await half.rest() == Data("restrest".utf8))
    try await open.write(Data("x".utf8))
    #expect(try await open.read() == Data("x".utf8))
  }

  @Test("Fetches and streams share an engine without disturbing each other")
  func withFetches() async throws {
    let lab = try TrustingEngine()
    let server = try LoopbackServer { connection in
      while try connection.readHead() != nil {
        try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
      }
    }
    let echoing = try lab.server(handler: { try $0.echo() })
    let stream = try await lab.dial(echoing)
    for round in 0..<20 {
      let answer = try await lab.transport.execute(
        TransferRequest(
          head: .init(method: .get, scheme: "http", authority: "127.0.0.1:\(server.port)", path: "/\(round)")))
      #expect(answer.head.status == .ok && answer.body.bytes == Data("ok".utf8))
      try await stream.write(Data("\(round)".utf8))
      #expect(try await stream.read() == Data("\(round)".utf8))
    }
    #expect(server.acceptedConnections == 1)
    // A stream never reuses a fetch's connection, even to the same host.
    let other = try await lab.dial(server)
    #expect(await eventually { server.acceptedConnections == 2 })
    other.close()
  }

  @Test("Streams, dials, faults and released engines leave no descriptor and no thread behind", .ownThread)
  func nothingIsLeft() async {
    await #expect(processExitsWith: .success) {
      // The first round loads everything that is loaded only once.
      try await StreamRound.play()
      let before = await StreamRound.settledDescriptors()
      for _ in 0..<4 { try await StreamRound.play() }
      #expect(await eventually { StreamRound.descriptors < before + 4 })
    }
  }

  @Test("Dials that fail before they begin leave nothing behind, whatever their fixed resolution contains", .ownThread)
  func impossibleDials() async {
    await #expect(processExitsWith: .success) { try await StreamRound.playImpossible() }
  }
}

/// A mix of stream operations on an engine of its own.
private enum StreamRound {
  static func play() async throws {
    let lab = try TrustingEngine()
    for tls in [false, true] {
      let server = try lab.server(tls: tls, handler: { try $0.echo() })
      let stream = try await lab.dial(server)
      try await stream.write(Data("hello".utf8))
      #expect(try await stream.read() == Data("hello".utf8))
      try await stream.finishWriting()
      #expect(try await stream.read() == nil)
      let open = try await lab.dial(server)
      let reading = Task { try await open.read() }
      reading.cancel()
      _ = try? await reading.value
      let cutting = try lab.server(tls: tls) { $0.closeWithoutNotify() }
      _ = await words { try await lab.dial(cutting).read() }
      let resetting = try lab.server(tls: tls) { $0.reset() }
      _ = await words { try await lab.dial(resetting).read() }
    }
    let stuck = try lab.server(tls: true, { $0.handshakeFault = .stallInHandshake }, handler: { try $0.echo() })
    _ = await words { try await lab.dial(stuck, limit: .milliseconds(50)) }
    let closing = try lab.server(tls: true, { $0.handshakeFault = .closeInHandshake }, handler: { try $0.echo() })
    _ = await words { try await lab.dial(closing) }
    let datagrams = try LoopbackDatagramServer { .answer($0.bytes) }
    let one = try await lab.dialer.dialDatagrams(DialRequest(host: "localhost", port: datagrams.port))
    try? await one.send(Data("x".utf8))
    await lab.transport.shutDown()
  }

  static func playImpossible() async throws {
    let lab = try TrustingEngine()
    func fail(_ number: Int) async -> String {
      let options = lab.options {
        $0.resolutions = [.init(host: "n\(number).test", port: 1, addresses: ["127.0.0.1"])]
        $0.localInterface = "a\0b"
      }
      return await words {
        try await lab.dialer.dial(DialRequest(host: "127.0.0.1", port: 1, connection: options))
      }
    }
    #expect(await fail(0) == "request/invalid_option")
    let before = await settledDescriptors()
    for number in 1...100 { _ = await fail(number) }
    // The margin allows for the descriptors of a multi handle.
    #expect(await eventually { descriptors < before + 20 })
  }

  static func settledDescriptors() async -> Int { await valueAtRest { descriptors } }

  static var descriptors: Int {
    (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count) ?? .max
  }
}
