// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Lastro
import LastroCurl
import LastroSupport
import LastroTesting
import TestSupport
import Testing

@Suite("Streams: bytes in both directions", .timeLimit(.minutes(15)))
struct EchoTests {
  @Test("Written bytes are echoed back, and the stream ends cleanly after finishWriting", arguments: [false, true])
  func echoes(tls: Bool) async throws {
    let lab = try TrustingEngine()
    let server = try lab.server(tls: tls, handler: { try $0.echo() })
    let stream = try await lab.dial(server)
    for text in ["hello", "", "world"] {
      try await stream.write(Data(text.utf8))
      if !text.isEmpty { #expect(try await stream.read() == Data(text.utf8)) }
    }
    try await stream.finishWriting()
    try await stream.finishWriting()
    #expect(try await stream.read() == nil)
    #expect(try await stream.read() == nil)
    #expect(await words { try await stream.write(Data([1])) } == "request/stream_closed")
    #expect(server.errors.isEmpty)
  }

  @Test("The default engine can dial streams")
  func sharedDialer() async throws {
    let server = try LoopbackServer(handler: { try $0.echo() })
    let stream = try await CurlNetworkStack.sharedDialer.dial(DialRequest(host: "127.0.0.1", port: server.port))
    try await stream.write(Data("hello".utf8))
    #expect(try await stream.read() == Data("hello".utf8))
  }

  @Test("The facts contain both addresses, the TLS version, the cipher, the chain and the verdict")
  func facts() async throws {
    let lab = try TrustingEngine()
    let plainServer = try lab.server(handler: { try $0.echo() })
    let plain = try await lab.dial(plainServer)
    #expect(plain.facts.tls == nil && plain.facts.trust == .plain && plain.facts.remoteAddress == "127.0.0.1")
    for (newest, version) in [(TLSOptions.Version.v1_3, "TLSv1.3"), (.v1_2, "TLSv1.2")] {
      let server = try lab.server(tls: true, { $0.maximumVersion = newest }, handler: { try $0.echo() })
      let stream = try await lab.dial(server)
      #expect(stream.facts.remotePort == server.port && (stream.facts.localPort ?? 0) > 0)
      let tls = try #require(stream.facts.tls)
      #expect(tls.version == version && tls.applicationProtocol == nil)
      #expect(tls.cipher?.isEmpty == false && stream.facts.trust == .validated)
      #expect(tls.presentedChain.first?.facts?.isAuthority == false)
    }
  }

  @Test(
    "Megabytes pass in both directions at once through a slow reader, complete and in order", arguments: [false, true])
  func bigBothWays(tls: Bool) async throws {
    let lab = try TrustingEngine()
    let server = try lab.server(tls: tls, handler: { try $0.echo() })
    let stream = try await lab.dial(server)
    let sent = noise(6 << 20)
    async let writing: Void = {
      try await stream.write(sent)
      try await stream.finishWriting()
    }()
    var received = Data()
    var count = 0
    while let piece = try await stream.read(upTo: 50_000) {
      #expect((1...50_000).contains(piece.count))
      received += piece
      count += 1
      // Every 40th read pauses, so that the peer has to wait.
      if count.isMultiple(of: 40) { try await Task.sleep(for: .milliseconds(5)) }
    }
    try await writing
    #expect(received == sent)
  }

  @Test("A writer waits while the peer does not read, and continues when it does", arguments: [false, true])
  func backPressure(tls: Bool) async throws {
    let lab = try TrustingEngine()
    let gate = try LoopbackGate()
    let server = try lab.server(tls: tls) { connection in
      connection.wait(for: gate)
      try connection.write("\(connection.readToEnd().count)")
    }
    let stream = try await lab.dial(server)
    let size = 16 << 20
    let isDone = Lock(false)
    let writer = Task {
      try await stream.write(Data(count: size))
      isDone.withLock { $0 = true }
      try await stream.finishWriting()
    }
    // The loop still serves another stream in the meantime.
    let otherServer = try lab.server(handler: { try $0.echo() })
    let other = try await lab.dial(otherServer)
    for _ in 0..<50 {
      try await other.write(Data("x".utf8))
      #expect(try await other.read() == Data("x".utf8))
    }
    #expect(!isDone.withLock { $0 })
    gate.open()
    #expect(try await stream.rest() == Data("\(size)".utf8))
    try await writer.value
  }

  @Test("Without a reader, received bytes stay with the peer, and the loop does not spin", .ownThread)
  func unreadBytesStay() async {
    // The measurement covers all loops of the process, so it needs a process of its own.
    await #expect(processExitsWith: .success) { try await StreamLoopTime.whileNobodyReads() }
  }

  @Test("Bytes arrive when they are written one at a time and read one at a time", arguments: [false, true])
  func byteByByte(tls: Bool) async throws {
    let lab = try TrustingEngine()
    let server = try lab.server(tls: tls) { connection in
      try connection.drip(Array("one byte at a time".utf8), every: .milliseconds(1))
      connection.close()
    }
    #expect(try await lab.dial(server).rest() == Data("one byte at a time".utf8))
    let whole = try lab.server(tls: tls) { try $0.write("in one piece") }
    // Bytes that TLS has decrypted but no read has requested must not be lost.
    #expect(try await lab.dial(whole).rest(atMost: 1) == Data("in one piece".utf8))
  }

  @Test("After the peer has ended its direction, our writes still arrive", arguments: [false, true])
  func peerEndsFirst(tls: Bool) async throws {
    let lab = try TrustingEngine()
    let (arrived, arrival) = AsyncStream.makeStream(of: [UInt8].self)
    let server = try lab.server(tls: tls) { connection in
      try connection.write("bye")
      if tls { connection.closeNotify() } else { connection.halfClose() }
      arrival.yield(connection.readToEnd())
    }
    let stream = try await lab.dial(server)
    #expect(try await stream.rest() == Data("bye".utf8))
    let sent = noise(300_000)
    try await stream.write(sent)
    try await stream.finishWriting()
    for await bytes in arrived {
      #expect(Data(bytes) == sent)
      break
    }
    #expect(server.errors.isEmpty)
  }

  @Test("A second concurrent reader or writer fails and does not disturb the first", arguments: [false, true])
  func secondReader(tls: Bool) async throws {
    let lab = try TrustingEngine()
    let gate = try LoopbackGate()
    let (begun, beginning) = AsyncStream.makeStream(of: Void.self)
    let server = try lab.server(tls: tls) { connection in
      _ = try connection.read(exactly: 1)
      beginning.yield()
      connection.wait(for: gate)
      try connection.write("for the first")
      while !connection.read(max: 65_536).isEmpty {}
    }
    let stream = try await lab.dial(server)
    let big = Task { try await stream.write(Data(count: 32 << 20)) }
    // The write is far from done at this point: the sockets hold fewer bytes.
    for await _ in begun { break }
    #expect(await words { try await stream.finishWriting() } == "request/operation_in_progress")
    let first = Task {
      while true {
        do throws(TransportError) {
          return try await stream.read()
        } catch {
          guard error.code == .operationInProgress else { throw error }
        }
      }
    }
    // Once the second read is refused, the first is in progress.
    var reads = ""
    for _ in 0..<2_000 where reads != "request/operation_in_progress" {
      reads = await words { try await stream.read(upTo: 1, within: .milliseconds(2)) }
    }
    #expect(reads == "request/operation_in_progress")
    gate.open()
    #expect(try await first.value == Data("for the first".utf8))
    try await big.value
  }
}

/// The processor time of the engine's threads.
enum StreamLoopTime {
  static func whileNobodyReads() async throws {
    let lab = try TrustingEngine()
    let written = Lock(0)
    let server = try lab.server { connection in
      while true {
        try connection.write([UInt8](repeating: 7, count: 64 << 10))
        written.withLock { $0 += 64 << 10 }
      }
    }
    let stream = try await lab.dial(server)
    // Waits until the sockets are full.
    _ = await eventually { written.withLock { $0 } > 0 }
    _ = await valueAtRest { written.withLock { $0 } }
    let start = spent()
    // The measured interval contains no traffic.
    try await Task.sleep(for: .milliseconds(500))
    #expect(spent() - start < 20, "CPU time of the loops' threads, in ticks of 10 ms")
    #expect(try await stream.bytes(exactly: 1 << 20) == Data(repeating: 7, count: 1 << 20))
  }

  /// Returns the processor time of all loops of this process, in ticks of the kernel's clock.
  static func spent() -> Int {
    let tasks = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task")) ?? []
    return tasks.reduce(0) { sum, task in
      guard let bytes = FileManager.default.contents(atPath: "/proc/self/task/\(task)/stat") else { return sum }
      let text = String(decoding: bytes, as: UTF8.self)
      guard text.contains("(lastro-loop)"), let end = text.lastIndex(of: ")") else { return sum }
      let fields = text[end...].split(separator: " ")
      return sum + (Int(fields[12]) ?? 0) + (Int(fields[13]) ?? 0)
    }
  }
}
