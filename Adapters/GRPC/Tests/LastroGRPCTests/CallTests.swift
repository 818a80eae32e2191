// SPDX-License-Identifier: Apache-2.0

import GRPCCore
import GRPCNIOTransportHTTP2Posix
import Lastro
import LastroCurl
import LastroGRPC
import Synchronization
import Testing

@Suite("Calls of servers of other projects", .timeLimit(.minutes(15)))
struct CallTests {
  @Test("A unary call returns the message and both kinds of metadata", arguments: EchoPeer.allCases)
  func unary(peer: EchoPeer) async throws {
    try await withEcho(peer) { client in
      for type in [MethodDescriptor.RPCType.unary, nil] {
        let metadata: Metadata = ["x-echo": "a b", "x-echo-bin": .binary([0, 255, 7])]
        let response = try await client.unary([1, 2, 3], metadata: metadata, type: type)
        #expect(try response.message == [1, 2, 3])
        #expect(Array(response.metadata[stringValues: "x-echo"]) == ["a b"])
        #expect(Array(response.trailingMetadata[binaryValues: "x-echo-bin"]) == [[0, 255, 7]])
      }
      let answer = try await client.unary([]).message
      #expect(answer == [])
    }
  }

  @Test("A client's stream is sent message by message", arguments: EchoPeer.allCases)
  func clientStream(peer: EchoPeer) async throws {
    try await withEcho(peer) { client in
      let collected = try await client.collect { writer in
        for byte in UInt8(0)..<200 { try await writer.write([byte, byte]) }
      }
      #expect(collected == (UInt8(0)..<200).flatMap { [$0, $0] })
      #expect(try await client.collect { _ in } == [])
    }
  }

  @Test("A server's stream is received message by message", arguments: EchoPeer.allCases)
  func serverStream(peer: EchoPeer) async throws {
    try await withEcho(peer) { client in
      let counts = try await client.expand([3, 0, 200, 1]) { messages in
        var counts: [Int] = []
        for try await message in messages { counts.append(message.count) }
        return counts
      }
      #expect(counts == [3, 0, 200, 1])
    }
  }

  @Test("In a bidirectional stream each message is answered before the next is sent", arguments: EchoPeer.allCases)
  func chat(peer: EchoPeer) async throws {
    try await withEcho(peer) { client in
      let (answers, answered) = AsyncStream<Void>.makeStream()
      let received = try await client.chat { writer in
        var iterator = answers.makeAsyncIterator()
        for number in UInt8(1)...50 {
          try await writer.write([number])
          _ = await iterator.next()
        }
      } _: { messages in
        var received: [UInt8] = []
        for try await message in messages {
          received += message
          answered.yield()
        }
        return received
      }
      #expect(received == Array(1...50))
    }
  }

  @Test("A refusal without messages has its status, text and metadata, and the ledger", arguments: EchoPeer.allCases)
  func trailersOnly(peer: EchoPeer) async throws {
    try await withEcho(peer) { client in
      for type in [MethodDescriptor.RPCType.unary, nil] {
        let response = try await client.unary([1], to: "Fail", type: type)
        let error = try #require(throws: RPCError.self) { try response.message }
        #expect(error.code == .notFound && error.message == "no such thing: 100 %, é\n")
        #expect(Array(error.metadata[stringValues: "x-reason"]) == ["none"])
        #expect(error.ledger?.operation == "lastro.Echo/Fail" && error.ledger?.attempts.count == 1)
      }
    }
  }

  @Test("A method that the server does not have is unimplemented", arguments: EchoPeer.allCases)
  func unimplemented(peer: EchoPeer) async throws {
    try await withEcho(peer) { client in
      let response = try await client.unary([1], to: "Missing")
      #expect(try #require(throws: RPCError.self) { try response.message }.code == .unimplemented)
    }
  }

  @Test("A server ends a call while the client still sends", arguments: EchoPeer.allCases)
  func failMidway(peer: EchoPeer) async throws {
    try await withEcho(peer) { client in
      let received = Mutex<[UInt8]>([])
      let error = await #expect(throws: RPCError.self) {
        try await client.chat(to: "FailMidway") { writer in
          try await writer.write([9])
          // The request does not end by itself.
          try await Task.sleep(for: .seconds(600))
        } _: { messages in
          for try await message in messages { received.withLock { $0 += message } }
        }
      }
      #expect(error?.code == .aborted && error?.message == "enough")
      #expect(error.map { Array($0.metadata[stringValues: "x-reason"]) } == ["midway"] && error?.ledger != nil)
      #expect(received.withLock { $0 } == [1])
    }
  }

  @Test("A cancelled call is cancelled on the server", arguments: EchoPeer.allCases)
  func cancel(peer: EchoPeer) async throws {
    try await withEcho(peer) { client in
      for type in [MethodDescriptor.RPCType.unary, nil] {
        let call = Task { try await client.unary([1], to: "Slow", type: type) }
        try await Task.sleep(for: .milliseconds(200))
        call.cancel()
        let error = await #expect(throws: RPCError.self) { try await call.value.message }
        #expect(error?.code == .cancelled)
      }
      try await expectCancelled(2, client)
    }
  }

  @Test("A call whose deadline passes fails, and is cancelled on the server", arguments: EchoPeer.allCases)
  func deadline(peer: EchoPeer) async throws {
    try await withEcho(peer) { client in
      var options = CallOptions.defaults
      options.timeout = .milliseconds(200)
      let error = await #expect(throws: RPCError.self) {
        try await client.unary([1], to: "Slow", options: options).message
      }
      #expect(error?.code == .deadlineExceeded)
      try await expectCancelled(1, client)
    }
  }

  private func expectCancelled(_ count: UInt8, _ client: EchoClient<LastroGRPCTransport>) async throws {
    var seen: [UInt8] = []
    for _ in 0..<1000 {
      seen = try await client.unary([], to: "Cancelled").message
      if seen == [count] { break }
      try await Task.sleep(for: .milliseconds(20))
    }
    #expect(seen == [count])
  }

  @Test("Messages of megabytes pass, and one above the limit is refused at its prefix", arguments: EchoPeer.allCases)
  func large(peer: EchoPeer) async throws {
    try await withEcho(peer) { client in
      let message = (0..<5 << 20).map { UInt8(truncatingIfNeeded: $0 &* 31) }
      let error = await #expect(throws: RPCError.self) { try await client.unary(message).message }
      #expect(error?.code == .resourceExhausted && error?.message.contains("above the limit of 4194304") == true)
      var options = CallOptions.defaults
      options.maxResponseMessageBytes = 8 << 20
      let answer = try await client.unary(message, options: options).message
      #expect(answer == message)
      let second = try await client.unary(message, options: options, type: nil).message
      #expect(second == message)
      options.maxRequestMessageBytes = 100
      let tooLarge = await #expect(throws: RPCError.self) { try await client.unary(message, options: options).message }
      #expect(tooLarge?.code == .resourceExhausted)
    }
  }

  @Test("The retry policy of a method is followed", arguments: EchoPeer.allCases)
  func retry(peer: EchoPeer) async throws {
    let policy = GRPCCore.RetryPolicy(
      maxAttempts: 3, initialBackoff: .milliseconds(10), maxBackoff: .milliseconds(20), backoffMultiplier: 1,
      retryableStatusCodes: [.unavailable])
    let config = ServiceConfig(methodConfig: [
      MethodConfig(names: [.init(service: "lastro.Echo")], executionPolicy: .retry(policy))
    ])
    try await withEcho(peer, serviceConfig: config) { client in
      let answer = try await client.unary([4], to: "FailOnce").message
      #expect(answer == [4])
    }
  }

  @Test("A hundred calls share a connection", arguments: EchoPeer.allCases)
  func concurrent(peer: EchoPeer) async throws {
    try await peer.serve { port in
      let opened = Mutex(0)
      let stack = try stack { $0.connectionObserver = { if $0.from == nil { opened.withLock { $0 += 1 } } } }
      try await withEcho(try transport("http://127.0.0.1:\(port)", stack)) { client in
        _ = try await client.unary([0]).message
        let sum = try await withThrowingTaskGroup(of: Int.self) { group in
          for number in UInt8(0)..<100 {
            group.addTask { try await client.unary([number]).message.reduce(0) { $0 + Int($1) } }
          }
          return try await group.reduce(0, +)
        }
        #expect(sum == 4950)
      }
      #expect(opened.withLock { $0 } == 1)
    }
  }

  @Test("A connection that is ended with GOAWAY is replaced, and no call fails")
  func goAway() async throws {
    let opened = Mutex(0)
    let stack = try stack { $0.connectionObserver = { if $0.from == nil { opened.withLock { $0 += 1 } } } }
    try await EchoPeer.nio.serve(configure: {
      $0.connection.maxAge = .milliseconds(50)
      $0.connection.maxGraceTime = .seconds(10)
    }) { port in
      try await withEcho(try transport("http://127.0.0.1:\(port)", stack)) { client in
        var calls = 0
        while opened.withLock({ $0 }) < 4, calls < 100_000 {
          calls += 1
          let answer = try await client.unary([5]).message
          #expect(answer == [5])
        }
      }
    }
    #expect(opened.withLock { $0 } >= 4)
    try await EchoPeer.python.serve { port in
      let before = opened.withLock { $0 }
      try await withEcho(try transport("http://127.0.0.1:\(port)", stack)) { client in
        _ = try await client.unary([], to: "Restart").message
        var calls = 0
        while opened.withLock({ $0 }) < before + 2, calls < 100_000 {
          calls += 1
          let answer = try await client.unary([5]).message
          #expect(answer == [5])
        }
      }
      #expect(opened.withLock { $0 } >= before + 2)
    }
  }

  @Test("A server that does not read stops the writer", arguments: EchoPeer.allCases)
  func slowServer(peer: EchoPeer) async throws {
    try await withEcho(peer) { client in
      var options = CallOptions.defaults
      options.timeout = .seconds(2)
      let written = Mutex(0)
      let error = await #expect(throws: RPCError.self) {
        try await client.collect(
          { writer in
            let piece = [UInt8](repeating: 1, count: 1 << 16)
            for _ in 0..<8192 {
              try await writer.write(piece)
              written.withLock { $0 += piece.count }
            }
          }, to: "Slow", options: options)
      }
      #expect(error?.code == .deadlineExceeded)
      #expect((1..<128 << 20).contains(written.withLock { $0 }))
    }
  }

  @Test("A client that does not read stops the server")
  func slowClient() async throws {
    let service = EchoService()
    try await EchoPeer.nio.serve(service) { port in
      try await withEcho(try transport("http://127.0.0.1:\(port)", try stack())) { client in
        let sent = try await client.expand([1], to: "Flood") { messages in
          for try await _ in messages { break }
          try await Task.sleep(for: .seconds(1))
          return service.flooded.withLock { $0 }
        }
        #expect((1..<128 << 20).contains(sent))
      }
    }
  }

  @Test("A client that is stopped ends its calls")
  func stop() async throws {
    try await EchoPeer.nio.serve { port in
      let transport = try transport("http://127.0.0.1:\(port)", try stack())
      let client = GRPCClient(transport: transport)
      let running = Task { try await client.runConnections() }
      let echo = EchoClient(client: client)
      let answer = try await echo.unary([1]).message
      #expect(answer == [1])
      let call = Task { try await echo.unary([1], to: "Slow").message }
      try await Task.sleep(for: .milliseconds(200))
      running.cancel()
      let error = await #expect(throws: RPCError.self) { try await call.value }
      #expect(error?.code == .cancelled)
      _ = await running.result
      await #expect(throws: RPCError.self) {
        try await transport.withStream(descriptor: EchoMethod.descriptor("Unary"), options: .defaults) { _, _ in }
      }
    }
  }
}
