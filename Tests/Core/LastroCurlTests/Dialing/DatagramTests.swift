// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import Lastro
import LastroCurl
import LastroTesting
import TestSupport
import Testing

@Suite("Streams: datagrams", .timeLimit(.minutes(15)))
struct DatagramTests {
  private func dial(
    _ server: LoopbackDatagramServer, host: String = "127.0.0.1", _ edit: (inout DialRequest) -> Void = { _ in }
  ) async throws -> any DatagramStream {
    var request = DialRequest(host: host, port: server.port, connectTimeout: nil)
    edit(&request)
    return try await CurlNetworkStack.sharedDialer.dialDatagrams(request)
  }

  @Test("Datagrams arrive whole, including empty ones and the largest")
  func echo() async throws {
    let server = try LoopbackDatagramServer { [$0] }
    let stream = try await dial(server)
    #expect(stream.maximumDatagramBytes == 65_507)
    let sent = [Data("hello".utf8), Data(), noise(1_200), noise(65_507)]
    for bytes in sent {
      try await stream.send(bytes)
      #expect(try await stream.receive() == bytes)
    }
    #expect(server.received == sent.map { Array($0) })
    #expect(await words { try await stream.send(Data(count: 65_508)) } == "request/invalid_option")
    #expect(stream.facts.remotePort == server.port && stream.facts.remoteAddress == "127.0.0.1")
    #expect(stream.facts.localPort == server.datagrams.first?.port && stream.facts.trust == .plain)
  }

  @Test("Lost datagrams do not arrive, duplicates arrive twice, and delayed ones arrive late")
  func faults() async throws {
    let gate = try LoopbackGate()
    let server = try LoopbackDatagramServer { (datagram: LoopbackDatagramServer.Datagram) in
      switch datagram.number {
      case 1: .drop
      case 2: .duplicate(datagram.bytes)
      default: .delay(datagram.bytes, until: gate)
      }
    }
    let stream = try await dial(server)
    for text in ["one", "two", "three"] { try await stream.send(Data(text.utf8)) }
    #expect(try await stream.receive() == Data("two".utf8))
    #expect(try await stream.receive() == Data("two".utf8))
    #expect(await words { try await stream.receive(within: .milliseconds(20)) } == "timeout/idle_timeout")
    gate.open()
    #expect(try await stream.receive() == Data("three".utf8))
  }

  @Test("An unreachable port is reported by receive, and the stream stays usable")
  func refused() async throws {
    let server = try LoopbackDatagramServer { .answer($0.bytes) }
    let stream = try await dial(server)
    try server.setRefusing(true)
    try await stream.send(Data("anybody?".utf8))
    let error = try await transportError { try await stream.receive() }
    #expect(error.code == .connectFailed && error.stage == .connect && error.systemCode == ECONNREFUSED)
    try server.setRefusing(false)
    try await stream.send(Data("now?".utf8))
    #expect(try await stream.receive() == Data("now?".utf8))
  }

  @Test("A host name is resolved, and a fixed resolution takes precedence")
  func names() async throws {
    let server = try LoopbackDatagramServer { .answer($0.bytes) }
    let stream = try await dial(server, host: "device.test") {
      var options = ConnectionOptions()
      options.resolutions = [.init(host: "device.test", port: server.port, addresses: ["127.0.0.1"])]
      $0.connection = options
    }
    try await stream.send(Data("by name".utf8))
    #expect(try await stream.receive() == Data("by name".utf8))
    let local = try await dial(server, host: "localhost")
    #expect(["127.0.0.1", "::1"].contains(local.facts.remoteAddress))
    #expect(await words { try await self.dial(server, host: "nobody.invalid") } == "resolve/host_not_found")
  }

  @Test("The local address can be chosen")
  func localInterface() async throws {
    let server = try LoopbackDatagramServer { .answer($0.bytes) }
    var options = ConnectionOptions()
    options.localInterface = "127.0.0.1"
    let stream = try await dial(server) { $0.connection = options }
    try await stream.send(Data("x".utf8))
    #expect(try await stream.receive() == Data("x".utf8))
    options.localInterface = "no-such-one"
    let error = try await transportError { try await dial(server) { $0.connection = options } }
    #expect(error.code == .connectFailed && error.systemCode != nil && error.hint?.contains("host name") == true)
    options.localInterface = "some.host.name.test"
    #expect(await words { try await dial(server) { $0.connection = options } } == "request/unsupported")
  }

  @Test("Cancelling a receiver loses no datagram; closing and a second receiver are reported as errors")
  func cancellation() async throws {
    let gate = try LoopbackGate()
    let server = try LoopbackDatagramServer { .delay($0.bytes, until: gate) }
    let stream = try await dial(server)
    try await stream.send(Data("late".utf8))
    let reading = Task {
      while true {
        do throws(TransportError) {
          return try await stream.receive()
        } catch {
          guard error.code == .operationInProgress else { throw error }
        }
      }
    }
    var second = ""
    for _ in 0..<2_000 where second != "request/operation_in_progress" {
      second = await words { try await stream.receive(within: .milliseconds(1)) }
    }
    #expect(second == "request/operation_in_progress")
    reading.cancel()
    #expect(await words { try await reading.value } == "cancelled/cancelled")
    gate.open()
    #expect(try await stream.receive() == Data("late".utf8))
    let last = Task { await words { try await stream.receive() } }
    stream.close()
    #expect(await last.value == "request/stream_closed")
    #expect(await words { try await stream.send(Data([1])) } == "request/stream_closed")
  }

  @Test("TLS, Unix sockets, invalid ports and pinned hosts are refused")
  func refusals() async throws {
    let server = try LoopbackDatagramServer { _ in .drop }
    #expect(await words { try await self.dial(server) { $0.tls = .init() } } == "request/unsupported")
    var options = ConnectionOptions()
    options.unixSocketPath = "/tmp/x"
    #expect(await words { try await self.dial(server) { $0.connection = options } } == "request/unsupported")
    #expect(await words { try await self.dial(server) { $0.port = 0 } } == "request/invalid_option")
    #expect(await words { try await self.dial(server) { $0.host = "a b" } } == "request/invalid_option")
  }

  @Test("Shutting the engine down ends datagram streams")
  func shutDown() async throws {
    let transport = try CurlTransport()
    let dialer = transport
    let server = try LoopbackDatagramServer { _ in .drop }
    let stream = try await dialer.dialDatagrams(DialRequest(host: "127.0.0.1", port: server.port))
    let reading = Task { await words { try await stream.receive() } }
    await transport.shutDown()
    #expect(await reading.value == "cancelled/shut_down")
    #expect(dialer.activeStreams == 0)
  }
}
