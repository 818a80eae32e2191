// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import Lastro
import LastroCurl
import LastroTesting
import PeerSupport
import TestSupport
import Testing

@Suite("Streams: how they end", .timeLimit(.minutes(15)))
struct StreamEndTests {
  @Test(
    "TLS that ends with close_notify ends cleanly; without it the stream is truncated after the data",
    arguments: [
      TLSOptions.Version.v1_2, .v1_3,
    ])
  func truncation(newest: TLSOptions.Version) async throws {
    let lab = try TrustingEngine()
    for isClean in [true, false] {
      let server = try lab.server(tls: true, { $0.maximumVersion = newest }) { connection in
        try connection.write("the last words")
        if isClean { connection.close() } else { connection.closeWithoutNotify() }
      }
      let stream = try await lab.dial(server)
      #expect(try await stream.bytes(exactly: 14) == Data("the last words".utf8))
      for _ in 0..<2 {
        if isClean {
          #expect(try await stream.read() == nil)
        } else {
          #expect(await words { try await stream.read() } == "response/truncated_stream")
        }
      }
    }
  }

  @Test("Large data before a truncation is delivered first")
  func truncationAfterMuch() async throws {
    let lab = try TrustingEngine()
    let sent = noise(500_000)
    let server = try lab.server(tls: true) { connection in
      try connection.write(sent)
      connection.closeWithoutNotify()
    }
    let stream = try await lab.dial(server)
    #expect(try await stream.bytes(exactly: sent.count) == sent)
    #expect(await words { try await stream.read() } == "response/truncated_stream")
  }

  @Test("TLS over a Unix socket that ends without close_notify is truncated too")
  func truncationOverUnixSocket() async throws {
    let lab = try TrustingEngine()
    let directory = try PeerDirectory()
    let path = directory.file("s")
    let tls = LoopbackTLS(try lab.authority.issue(hosts: ["service.test"]))
    let server = try LoopbackServer(unixSocketPath: path, tls: tls) { connection in
      try connection.write("the last words")
      connection.closeWithoutNotify()
    }
    defer { server.stop() }
    let connection = lab.options { $0.unixSocketPath = path }
    let stream = try await lab.dialer.dial(
      DialRequest(host: "service.test", port: 1, tls: .init(), connection: connection))
    #expect(try await stream.bytes(exactly: 14) == Data("the last words".utf8))
    #expect(await words { try await stream.read() } == "response/truncated_stream")
  }

  @Test("A FIN is a clean end of a stream without TLS")
  func plainEnd() async throws {
    let lab = try TrustingEngine()
    let server = try lab.server { connection in
      try connection.write("all")
      connection.close()
    }
    #expect(try await lab.dial(server).rest() == Data("all".utf8))
  }

  @Test("A reset fails every later read with its errno", arguments: [false, true])
  func reset(tls: Bool) async throws {
    let lab = try TrustingEngine()
    let gate = try LoopbackGate()
    let server = try lab.server(tls: tls) { connection in
      connection.wait(for: gate)
      connection.reset()
    }
    let stream = try await lab.dial(server)
    let reading = Task { try await stream.read() }
    gate.open()
    let error = try await transportError { try await reading.value }
    #expect(error.code == .receiveFailed && error.systemCode == ECONNRESET && error.stage == .response)
    #expect(await words { try await stream.read() } == "response/receive_failed")
  }

  @Test("Writing to a closed peer fails with the errno", arguments: [false, true])
  func writingToNobody(tls: Bool) async throws {
    let lab = try TrustingEngine()
    let server = try lab.server(tls: tls) { connection in
      _ = connection.read(max: 1)
      connection.reset()
    }
    let stream = try await lab.dial(server)
    let error = try await transportError {
      for _ in 0..<1_000 { try await stream.write(Data(count: 1 << 20)) }
    }
    #expect(error.code == .sendFailed && error.stage == .send)
    #expect(error.systemCode == EPIPE || error.systemCode == ECONNRESET)
  }

  @Test("A TLS alert of the peer is reported as such")
  func alert() async throws {
    let lab = try TrustingEngine()
    let authority = lab.authority.rootPEM
    let server = try lab.server(tls: true, { $0.clientAuthoritiesPEM = authority }, handler: { try $0.echo() })
    // In TLS 1.3 the refusal arrives after the client has completed its handshake.
    let stream = try await lab.dial(server)
    #expect(await words { try await stream.read() } == "tls/client_certificate_required")
  }

  @Test("close ends pending reads and writes at once, in both directions and permanently", arguments: [false, true])
  func close(tls: Bool) async throws {
    let lab = try TrustingEngine()
    let gate = try LoopbackGate()
    let server = try lab.server(tls: tls) { connection in
      connection.wait(for: gate)
      _ = connection.readToEnd()
    }
    let stream = try await lab.dial(server)
    let reading = Task { await words { try await stream.read() } }
    let writing = Task { await words { try await stream.write(Data(count: 64 << 20)) } }
    stream.close()
    stream.close()
    #expect(await reading.value == "request/stream_closed")
    #expect(await writing.value == "request/stream_closed")
    #expect(await words { try await stream.read() } == "request/stream_closed")
    #expect(await words { try await stream.finishWriting() } == "request/stream_closed")
    #expect(await eventually { lab.dialer.activeStreams == 0 })
    // The peer reads all earlier bytes before it sees the end.
    gate.open()
    #expect(await eventually { server.openConnections == 0 })
  }

  @Test("close sends close_notify to a TLS peer")
  func closeNotifies() async throws {
    let lab = try TrustingEngine()
    let (ends, end) = AsyncStream.makeStream(of: Bool.self)
    let server = try lab.server(tls: true) { connection in
      _ = connection.readToEnd()
      end.yield(true)
    }
    let stream = try await lab.dial(server)
    stream.close()
    for await _ in ends { break }
    #expect(server.errors.isEmpty)
  }

  @Test("A stream that is dropped is closed", arguments: [false, true])
  func dropped(tls: Bool) async throws {
    let lab = try TrustingEngine()
    let server = try lab.server(tls: tls) { $0.stall() }
    for _ in 0..<20 { _ = try await lab.dial(server) }
    // Over TCP a dial may complete before the server has accepted the connection.
    #expect(await eventually { server.acceptedConnections == 20 && server.openConnections == 0 })
    #expect(await eventually { lab.dialer.activeStreams == 0 })
  }

  @Test("Shutting the engine down ends streams and dials with shut_down", arguments: [false, true])
  func shutDown(tls: Bool) async throws {
    let lab = try TrustingEngine()
    let server = try lab.server(tls: tls) { $0.stall() }
    let stuck = try lab.server(tls: true, { $0.handshakeFault = .stallInHandshake }, handler: { try $0.echo() })
    let stream = try await lab.dial(server)
    let reading = Task { await words { try await stream.read() } }
    let dialing = Task { await words { try await lab.dial(stuck) } }
    try await stuck.waitForConnections(count: 1)
    await lab.transport.shutDown()
    #expect(await reading.value == "cancelled/shut_down")
    #expect(await dialing.value == "cancelled/shut_down")
    #expect(await words { try await stream.read() } == "cancelled/shut_down")
    #expect(await words { try await stream.write(Data([1])) } == "cancelled/shut_down")
    #expect(await words { try await lab.dial(server) } == "cancelled/shut_down")
    #expect(lab.dialer.activeStreams == 0)
  }

  @Test("A stream keeps its engine alive and releases it when it ends")
  func engineLivesOn() async throws {
    var lab: TrustingEngine? = try TrustingEngine()
    let server = try LoopbackServer(handler: { try $0.echo() })
    var stream: (any ByteStream)? = try await lab?.dial(server)
    lab = nil
    try await stream?.write(Data("still".utf8))
    #expect(try await stream?.read() == Data("still".utf8))
    stream = nil
    #expect(await eventually { server.openConnections == 0 })
  }

  @Test("If finishWriting failed, calling it again does not report success")
  func finishingTwice() async throws {
    let lab = try TrustingEngine()
    let server = try lab.server(tls: true) { connection in
      _ = try connection.read(exactly: 1)
      connection.reset()
    }
    let stream = try await lab.dial(server)
    try await stream.write(Data([1]))
    _ = await words { try await stream.read() }
    // Writes until the socket reports the reset.
    while await words({ try await stream.write(Data([1])) }).hasPrefix("no error") {}
    let first = await words { try await stream.finishWriting() }
    #expect(first == "send/send_failed")
    #expect(await words { try await stream.finishWriting() } == first)
  }
}
