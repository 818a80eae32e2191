// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import Lastro
import LastroCurl
import LastroTesting
import PeerSupport
import TestSupport
import Testing

@Suite("Streams: limits and cancellation", .timeLimit(.minutes(15)))
struct StreamGivingUpTests {
  /// Returns a TLS server that stalls in the handshake.
  private func stuck(_ lab: TrustingEngine) throws -> LoopbackServer {
    try lab.server(tls: true, { $0.handshakeFault = .stallInHandshake }, handler: { try $0.echo() })
  }

  @Test("A dial that is cancelled during the handshake ends at once and leaves nothing behind")
  func cancelInHandshake() async throws {
    let lab = try TrustingEngine()
    let server = try stuck(lab)
    let dialing = Task { await words { try await lab.dial(server) } }
    try await server.waitForConnections(count: 1)
    dialing.cancel()
    #expect(await dialing.value == "cancelled/cancelled")
    #expect(await eventually { server.openConnections == 0 && lab.dialer.activeStreams == 0 })
  }

  @Test("A dial that is cancelled before it begins or while it connects ends at once")
  func cancelInConnect() async throws {
    let lab = try TrustingEngine()
    let listener = try CrowdedListener()
    let request = DialRequest(host: "127.0.0.1", port: listener.port, connectTimeout: nil)
    let dialing = Task { await words { try await lab.dialer.dial(request) } }
    #expect(await eventually { lab.dialer.activeStreams == 1 })
    dialing.cancel()
    #expect(await dialing.value == "cancelled/cancelled")
    var limited = request
    limited.connectTimeout = .milliseconds(50)
    #expect(await words { try await lab.dialer.dial(limited) } == "timeout/connect_timeout")
    let never = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      return await words { try await lab.dialer.dial(request) }
    }
    #expect(await never.value == "cancelled/cancelled")
    #expect(await eventually { lab.dialer.activeStreams == 0 })
  }

  @Test("The connect limit applies to the handshake, and to dials that wait behind it")
  func connectLimit() async throws {
    let lab = try TrustingEngine { configuration, _ in configuration.coldRequestsPerHost = 1 }
    // This dial needs a server of its own, because its server may never accept the connection.
    let hasty = try stuck(lab)
    #expect(await words { try await lab.dial(hasty, limit: .milliseconds(100)) } == "timeout/connect_timeout")
    #expect(await eventually { lab.dialer.activeStreams == 0 })
    let server = try stuck(lab)
    let first = Task { await words { try await lab.dial(server) } }
    try await server.waitForConnections(count: 1)
    #expect(await words { try await lab.dial(server, limit: .milliseconds(100)) } == "timeout/connect_timeout")
    #expect(await words { try await lab.dial(server, limit: .zero) } == "timeout/connect_timeout")
    let waiting = Task { await words { try await lab.dial(server) } }
    _ = await eventually { lab.dialer.activeStreams == 2 }
    waiting.cancel()
    #expect(await waiting.value == "cancelled/cancelled")
    first.cancel()
    #expect(await first.value == "cancelled/cancelled")
    #expect(await eventually { lab.dialer.activeStreams == 0 })
    #expect(server.acceptedConnections == 1)
  }

  @Test("Queued dials to a host begin in their order, and those that were given up do not begin")
  func order() async throws {
    let lab = try TrustingEngine { configuration, _ in
      configuration.loops = 1
      configuration.coldRequestsPerHost = 1
    }
    let server = try stuck(lab)
    var dials: [Task<String, Never>] = []
    for index in 1...4 {
      dials.append(Task { await words { try await lab.dial(server) } })
      #expect(await eventually { lab.dialer.activeStreams == index })
    }
    try await server.waitForConnections(count: 1)
    // The second dial is given up. The third begins when the first ends, and the fourth when the third ends.
    for (index, connections) in [(1, 1), (0, 2), (2, 3), (3, 3)] {
      dials[index].cancel()
      #expect(await dials[index].value == "cancelled/cancelled")
      try await server.waitForConnections(count: connections)
    }
    #expect(await eventually { lab.dialer.activeStreams == 0 })
    #expect(server.acceptedConnections == 3)
  }

  @Test("Thousands of queued dials that fail immediately fail one after another")
  func failingQueue() async throws {
    let count = 12_000
    let lab = try TrustingEngine { configuration, _ in
      configuration.loops = 1
      configuration.coldRequestsPerHost = 1
      configuration.maximumQueuedRequests = count
    }
    let server = try stuck(lab)
    let first = Task { await words { try await lab.dial(server) } }
    try await server.waitForConnections(count: 1)
    let impossible = lab.options { $0.localInterface = "a\0b" }
    await withTaskGroup(of: String.self) { group in
      for _ in 0..<count {
        group.addTask { await words { try await lab.dial(server) { $0.connection = impossible } } }
      }
      #expect(await eventually { lab.dialer.activeStreams == count + 1 })
      first.cancel()
      for await words in group { #expect(words == "request/invalid_option") }
    }
    #expect(await first.value == "cancelled/cancelled")
    #expect(await eventually { lab.dialer.activeStreams == 0 })
  }

  @Test("Dials beyond the queue limit are refused")
  func queueLimit() async throws {
    let lab = try TrustingEngine { configuration, _ in
      configuration.coldRequestsPerHost = 1
      configuration.maximumQueuedRequests = 0
    }
    let server = try stuck(lab)
    let first = Task { await words { try await lab.dial(server) } }
    try await server.waitForConnections(count: 1)
    #expect(await words { try await lab.dial(server) } == "limit/queue_full")
    first.cancel()
    #expect(await first.value == "cancelled/cancelled")
  }

  @Test("Dialing a closed port fails with the errno; dialing an unknown name fails at the resolve stage")
  func nobodyListens() async throws {
    let lab = try TrustingEngine()
    let port = try Loopback.freePort()
    let error = try await transportError { try await lab.dialer.dial(DialRequest(host: "127.0.0.1", port: port)) }
    #expect(error.stage == .connect && error.code == .connectFailed && error.systemCode != nil)
    #expect(
      await words { try await lab.dialer.dial(DialRequest(host: "nobody.invalid", port: 1)) }
        == "resolve/host_not_found")
    for (host, port) in [("", 1), ("a b", 1), ("localhost", 0), ("localhost", 65_536), ("x:1", 1)] {
      #expect(
        await words { try await lab.dialer.dial(DialRequest(host: host, port: port)) } == "request/invalid_option"
      )
    }
  }

  @Test("A failed handshake does not report the errno of an address that was tried earlier")
  func olderErrno() async throws {
    let lab = try TrustingEngine()
    let server = try lab.server(tls: true, { $0.handshakeFault = .closeInHandshake }, handler: { try $0.echo() })
    let options = lab.options {
      // No server listens at the first address.
      $0.resolutions = [.init(host: "localhost", port: server.port, addresses: ["127.0.0.2", "127.0.0.1"])]
    }
    let error = try await transportError { try await lab.dial(server) { $0.connection = options } }
    #expect(error.stage != .connect && error.systemCode != ECONNREFUSED)
  }

  @Test("A read that is cancelled or exceeds its limit loses no bytes", arguments: [false, true])
  func readGivenUp(tls: Bool) async throws {
    let lab = try TrustingEngine()
    let server = try lab.server(tls: tls, handler: { try $0.echo() })
    let stream = try await lab.dial(server)
    var expected = Data(), received = Data()
    for round in 0..<60 {
      #expect(await words { try await stream.read(upTo: 10, within: .milliseconds(1)) } == "timeout/idle_timeout")
      let sent = Data("round \(round)\n".utf8)
      expected += sent
      // The data and the cancellation race.
      let reading = Task { () -> Data? in
        do throws(TransportError) { return try await stream.read(upTo: 3) } catch {
          #expect(error.code == .cancelled)
          return nil
        }
      }
      try await stream.write(sent)
      if round.isMultiple(of: 2) { await Task.yield() }
      reading.cancel()
      if let piece = await reading.value { received += piece }
      while received.count < expected.count {
        received += try #require(try await stream.read(upTo: 4, within: nil))
      }
    }
    #expect(received == expected)
    #expect(await words { try await stream.read(upTo: 0, within: nil) } == "request/invalid_option")
  }

  @Test("A write that is given up midway closes the stream", arguments: [false, true])
  func writeGivenUp(tls: Bool) async throws {
    let lab = try TrustingEngine()
    for isCancelled in [false, true] {
      let gate = try LoopbackGate()
      let server = try lab.server(tls: tls) { connection in
        connection.wait(for: gate)
        _ = connection.readToEnd()
      }
      let stream = try await lab.dial(server)
      if isCancelled {
        let writing = Task { await words { try await stream.write(Data(count: 64 << 20)) } }
        _ = await eventually { server.acceptedConnections == 1 }
        writing.cancel()
        #expect(await writing.value == "cancelled/cancelled")
      } else {
        #expect(
          await words { try await stream.write(Data(count: 64 << 20), within: .milliseconds(50)) }
            == "timeout/idle_timeout")
      }
      // If a task is cancelled before its write begins, the stream stays open.
      if !isCancelled { #expect(await words { try await stream.read() } == "request/stream_closed") }
      stream.close()
      #expect(await eventually { lab.dialer.activeStreams == 0 })
      // The kernel keeps trying to send the written bytes.
      gate.open()
      #expect(await eventually { server.openConnections == 0 && lab.dialer.activeStreams == 0 })
    }
  }

  @Test("Cancelling at any moment leaves no stream behind", arguments: [false, true])
  func cancelAnywhere(tls: Bool) async throws {
    let lab = try TrustingEngine()
    let server = try lab.server(tls: tls, handler: { try $0.echo() })
    for round in 0..<60 {
      let task = Task {
        let stream = try await lab.dial(server)
        try await stream.write(noise(100_000))
        try await stream.finishWriting()
        return try await stream.rest().count
      }
      // Each round cancels at a different moment. No moment may leave a stream behind.
      for _ in 0..<round { await Task.yield() }
      if round.isMultiple(of: 3) { try await Task.sleep(for: .microseconds(50 * round)) }
      task.cancel()
      do {
        let count = try await task.value
        #expect(count == 100_000)
      } catch {
        #expect((error as? TransportError)?.code == .cancelled, "\(error)")
      }
    }
    #expect(await eventually { server.openConnections == 0 && lab.dialer.activeStreams == 0 })
  }
}

/// A listener on 127.0.0.1 whose queue is full: connecting to it neither succeeds nor fails.
private final class CrowdedListener {
  let port: Int
  private var descriptors: [Int32] = []

  init() throws {
    let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    descriptors.append(listener)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    var fillers: [Int32] = []
    try withUnsafeMutablePointer(to: &address) { pointer in
      try pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
        try #require(bind(listener, pointer, size) == 0 && listen(listener, 0) == 0)
        try #require(getsockname(listener, pointer, &size) == 0)
        for index in 0..<4 {
          // The first connection must be in the queue before the others start to wait.
          let flags = index == 0 ? 0 : Int32(SOCK_NONBLOCK.rawValue)
          let filler = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | flags, 0)
          _ = connect(filler, pointer, size)
          fillers.append(filler)
        }
      }
    }
    port = Int(UInt16(bigEndian: address.sin_port))
    descriptors += fillers
  }

  deinit { for descriptor in descriptors { close(descriptor) } }
}
