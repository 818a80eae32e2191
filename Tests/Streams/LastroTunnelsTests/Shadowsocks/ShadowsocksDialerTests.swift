// SPDX-License-Identifier: Apache-2.0

import CurlSupport
import FoundationEssentials
import Lastro
import LastroCurl
import LastroStreamsTesting
import LastroTesting
import LastroTunnels
import TestSupport
import Testing

@Suite("Shadowsocks as a tunnel", .timeLimit(.minutes(15)))
struct ShadowsocksDialerTests {
  private static let request = DialRequest(host: "any.test", port: 7, connectTimeout: .seconds(600))

  @Test(
    "Bytes pass in both directions at once, in pieces of any size", arguments: ShadowsocksServer.Method.allCases,
    [
      (1, 1), (1, 3000), (7, 16_383), (1448, 16_384), (1448, 65_536), (.max, 1), (.max, 16_383), (.max, 16_384),
      (.max, 262_128), (.max, 1 << 19),
    ])
  func echo(method: ShadowsocksServer.Method, sizes: (piece: Int, count: Int)) async throws {
    let house = try ShadowsocksHouse { $0.method = method }
    let stream = try await house.dialer(shape: .init(longestRead: sizes.piece)).dial(Self.request)
    try await stream.expectEcho(sizes.count)
    try await stream.expectEcho(sizes.count)
    stream.close()
    #expect(house.server.targets == ["any.test:7"])
  }

  @Test("Names are sent to the server unresolved, and addresses as such")
  func targets() async throws {
    let house = try ShadowsocksHouse()
    let name = String(repeating: "a", count: 60) + "." + String(repeating: "b", count: 60) + ".test"
    let hosts = [
      ("echo.example.org", "echo.example.org"), ("127.0.0.1", "127.0.0.1"), ("2001:DB8::1", "[2001:db8:0:0:0:0:0:1]"),
      ("[::1]", "[0:0:0:0:0:0:0:1]"), ("under_score.test", "under_score.test"), (name, name),
    ]
    for (host, _) in hosts {
      try await house.dialer().dial(DialRequest(host: host, port: 65_535, connectTimeout: nil)).expectEcho()
    }
    #expect(house.server.targets == hosts.map { "\($0.1):65535" })
  }

  @Test("A stream that is not the server's response ends with its own code", arguments: [1, 1000, Int.max])
  func faults(piece: Int) async throws {
    let cases: [(LoopbackShadowsocksBehavior.Fault, FailureCode, Int32?)] = [
      (.end, .proxyRefused, nil), (.reset, .proxyRefused, nil), (.garbage, .handshakeFailed, 1),
      (.anotherPassword, .handshakeFailed, 1), (.clientsSalt, .handshakeFailed, 3), (.reflection, .handshakeFailed, 3),
    ]
    for method in ShadowsocksServer.Method.allCases {
      for (fault, code, engineCode) in cases {
        for writes in [true, false] {
          let house = try ShadowsocksHouse {
            $0.method = method
            $0.fault = fault
            $0.opening = [.payload([1, 2, 3])]
            $0.pieceBytes = piece
          }
          let stream = try await house.dialer().dial(Self.request)
          if writes { try await stream.write(Data("hello".utf8)) }
          for _ in 0..<2 {
            let error = try await transportError { try await stream.read() }
            #expect(error.stage == .proxy, "\(fault)")
            #expect(error.code == code, "\(fault)")
            #expect(error.engineCode == engineCode, "\(fault)")
            #expect(error.hint != nil)
            #expect(error.requestSent == writes)
            #expect(error.message.contains("the Shadowsocks server \(ShadowsocksHouse.host):8388"))
            #expect(!"\(error)".contains("test-password"))
          }
          try await house.ended.waitForEvents(count: 1)
        }
      }
    }
  }

  @Test("An altered payload after a valid length in the first chunk is not reported as a wrong password")
  func changedFirstPayload() async throws {
    let house = try ShadowsocksHouse { $0.reply = [.changed([1, 2, 3])] }
    let stream = try await house.dialer().dial(Self.request)
    try await stream.write(Data([1]))
    let error = try await transportError { try await stream.read() }
    #expect(error.code == .handshakeFailed && error.engineCode == 2)
  }

  @Test(
    "Silence ends at the read's limit with the possible cause; later silence is reported as such only",
    arguments: [false, true])
  func silence(isOtherPassword: Bool) async throws {
    let house = try ShadowsocksHouse { if !isOtherPassword { $0.fault = .silence } }
    let server = try ShadowsocksServer(
      host: ShadowsocksHouse.host, port: 8388, method: .chaCha20Poly1305,
      password: isOtherPassword ? "another" : "test-password")
    let stream = try await ShadowsocksDialer(server, over: house.near).dial(Self.request)
    try await stream.write(Data([1]))
    for _ in 0..<2 {
      let error = try await transportError { try await stream.read(upTo: 1, within: .milliseconds(1)) }
      #expect(error.stage == .timeout && error.code == .idleTimeout)
      #expect(error.hint?.contains("check password and method") == true, "\(error)")
    }
    let right = try ShadowsocksHouse()
    let open = try await right.dialer().dial(Self.request)
    try await open.expectEcho()
    let later = try await transportError { try await open.read(upTo: 1, within: .milliseconds(1)) }
    #expect(later.code == .idleTimeout && later.hint?.contains("password") == false)
  }

  @Test(
    "Data before an invalid chunk is read, then every call throws the same error, and the connection is closed",
    arguments: [
      .changed([1, 2, 3]), .changedLength([1, 2, 3]), .length(0, payload: []), .length(0x4000, payload: [1]),
      .length(0x8001, payload: [1]), .length(0xFFFF, payload: [1]), .length(2, payload: [1]),
      .length(1, payload: [1, 2]),
    ] as [LoopbackShadowsocksStep], [1, Int.max])
  func badChunks(step: LoopbackShadowsocksStep, piece: Int) async throws {
    let house = try ShadowsocksHouse {
      // If a length is not that of its chunk, the client opens the chunk with bytes that follow it.
      $0.reply = [.payload([1, 2]), .payload([3]), step, .payload([UInt8](repeating: 5, count: 100))]
      $0.pieceBytes = piece
    }
    let stream = try await house.dialer().dial(Self.request)
    try await stream.write(Data([1]))
    #expect(try await stream.bytes(exactly: 3) == Data([1, 2, 3]))
    for _ in 0..<3 {
      let error = try await transportError { try await stream.read() }
      #expect(error.stage == .response)
      #expect(error.code == .protocolViolation)
      #expect(error.requestSent)
    }
    #expect(try await transportError { try await stream.write(Data([1])) }.code == .protocolViolation)
    #expect(try await transportError { try await stream.finishWriting() }.code == .protocolViolation)
    try await house.ended.waitForEvents(count: 1)
    stream.close()
    #expect(try await transportError { try await stream.read() }.code == .streamClosed)
  }

  @Test("An end between chunks is clean, one within salt or chunk is not, and one before the first chunk is a refusal")
  func cuts() async throws {
    // The reply is a salt of 32 bytes, and chunks of 18 + 10 + 16 and 18 + 1 + 16 bytes.
    let whole = 32 + 44 + 35
    for end in 0...whole {
      let house = try ShadowsocksHouse {
        $0.reply = [.payload(Array(0..<10)), .payload([10])]
        $0.cutAfter = end
      }
      let stream = try await house.dialer().dial(Self.request)
      try await stream.write(Data([1]))
      if end >= 76 { #expect(try await stream.bytes(exactly: 10) == Data(0..<10)) }
      if end == whole { #expect(try await stream.bytes(exactly: 1) == Data([10])) }
      for _ in 0..<2 {
        switch end {
        case 76, whole: #expect(try await stream.read() == nil, "\(end)")
        case 0, 32: #expect(try await transportError { try await stream.read() }.code == .proxyRefused, "\(end)")
        default:
          let error = try await transportError { try await stream.read() }
          #expect(error.code == .truncatedStream && error.stage == .response, "\(end)")
        }
      }
    }
  }

  @Test("A flipped bit anywhere never yields a wrong byte", arguments: ShadowsocksServer.Method.allCases)
  func mutations(method: ShadowsocksServer.Method) async throws {
    for index in 0..<(method == .aes128GCM ? 16 : 32) + 79 {
      let house = try ShadowsocksHouse {
        $0.method = method
        $0.reply = [.payload(Array(0..<10)), .payload([10]), .end]
      }
      let stream = try await house.dialer(over: ChangingDialer(below: house.near, index: index)).dial(Self.request)
      try await stream.write(Data([1]))
      var got = Data()
      do throws(TransportError) {
        while let bytes = try await stream.read() { got += bytes }
        Issue.record("a change of byte \(index) was not detected")
      } catch {
        #expect([.handshakeFailed, .protocolViolation].contains(error.code), "\(index): \(error)")
      }
      #expect(Data(0...10).starts(with: got))
    }
  }

  @Test("Every stream has its own salt")
  func salts() async throws {
    let house = try ShadowsocksHouse()
    for _ in 0..<20 { try await house.dialer().dial(Self.request).expectEcho(1) }
    #expect(Set(house.writes.events.map { $0.prefix(32) }).count == 20)
  }
}

@Suite("Shadowsocks streams: beginnings and ends", .timeLimit(.minutes(15)))
struct ShadowsocksStreamEndTests {
  private static let request = DialRequest(host: "any.test", port: 7, connectTimeout: .seconds(600))
  /// The length of the salt and of a chunk with the address alone: type, length, name, port.
  private static let beginning = 32 + 34 + 1 + 1 + 8 + 2

  @Test("Salt and address are sent with the first bytes in one write and one chunk, however late")
  func together() async throws {
    let clock = ManualClock()
    let house = try ShadowsocksHouse(time: clock.timeSource)
    let stream = try await house.dialer().dial(Self.request)
    try await clock.waitForLimits(count: 1)
    #expect(clock.nextLimit == .milliseconds(10))
    clock.advance(by: .milliseconds(9))
    try await stream.write(Data())
    #expect(house.writes.events.isEmpty)
    try await stream.write(Data("hello".utf8))
    #expect(house.writes.events.map(\.count) == [Self.beginning + 5])
    clock.advance(by: .seconds(60))
    #expect(try await stream.bytes(exactly: 5) == Data("hello".utf8))
    #expect(house.writes.count == 1)
  }

  @Test("Salt and address are sent alone after 10 ms without a write, before a read, and when our direction ends")
  func alone() async throws {
    for way in 0..<3 {
      let clock = ManualClock()
      let house = try ShadowsocksHouse(time: clock.timeSource) { $0.opening = [.payload([7])] }
      let stream = try await house.dialer().dial(Self.request)
      try await clock.waitForLimits(count: 1)
      switch way {
      case 0: clock.advance(by: .milliseconds(10))
      case 1: #expect(try await stream.read() == Data([7]))
      default: try await stream.finishWriting()
      }
      #expect(try await house.writes.waitForEvents(count: 1).map(\.count) == [Self.beginning])
      if way != 1 { #expect(try await stream.read() == Data([7])) }
      guard way != 2 else { continue }
      try await stream.write(Data("hello".utf8))
      #expect(try await stream.bytes(exactly: 5) == Data("hello".utf8))
      #expect(house.writes.events.map(\.count) == [Self.beginning, 34 + 5])
    }
  }

  @Test("A write waits while salt and address are sent alone, and follows them")
  func order() async throws {
    for capacity in [1, 10, 100] {
      let house = try ShadowsocksHouse()
      let stream = try await house.dialer(shape: .init(longestRead: 3, capacity: capacity)).dial(Self.request)
      async let echo = stream.bytes(exactly: 3000)
      try await house.writes.waitForEvents(count: 1)
      for start in stride(from: 0, to: 3000, by: 1000) {
        try await stream.write(Data((start..<start + 1000).map { UInt8(truncatingIfNeeded: $0) }))
      }
      #expect(try await echo == Data((0..<3000).map { UInt8(truncatingIfNeeded: $0) }))
    }
  }

  @Test("A stream that is closed at once has sent nothing, and one that is dropped is closed")
  func closing() async throws {
    let clock = ManualClock()
    let house = try ShadowsocksHouse(time: clock.timeSource)
    let stream = try await house.dialer().dial(Self.request)
    stream.close()
    try await house.ended.waitForEvents(count: 1)
    for error in [
      try await transportError { try await stream.read() },
      try await transportError { try await stream.write(Data([1])) },
      try await transportError { try await stream.finishWriting() },
    ] { #expect(error.code == .streamClosed) }
    _ = try await house.dialer().dial(Self.request)
    try await house.ended.waitForEvents(count: 2)
    clock.advance(by: .seconds(1))
    #expect(house.writes.events.isEmpty)
  }

  @Test("Ending our direction sends no end: the server continues, and no more can be written")
  func finishing() async throws {
    let house = try ShadowsocksHouse()
    let stream = try await house.dialer().dial(Self.request)
    try await stream.write(Data("all".utf8))
    try await stream.finishWriting()
    try await stream.finishWriting()
    #expect(try await stream.bytes(exactly: 3) == Data("all".utf8))
    #expect(try await transportError { try await stream.write(Data([1])) }.code == .streamClosed)
    stream.close()
    #expect(try await transportError { try await stream.finishWriting() }.code == .streamClosed)
    try await house.ended.waitForEvents(count: 1)
  }

  @Test("A cancelled read loses nothing; second readers and writers, and reads of zero bytes, are refused")
  func turns() async throws {
    let house = try ShadowsocksHouse()
    let stream = try await house.dialer().dial(Self.request)
    let reading = Task { try await stream.read(upTo: 4) }
    try await house.reads.waitForEvents(count: 1)
    #expect(try await transportError { try await stream.read() }.code == .operationInProgress)
    reading.cancel()
    #expect(try await transportError { try await reading.value }.code == .cancelled)
    try await stream.write(Data("kept".utf8))
    #expect(try await stream.bytes(exactly: 4) == Data("kept".utf8))
    #expect(try await transportError { try await stream.read(upTo: 0) }.code == .invalidOption)
    let closed = Task { try await stream.read() }
    stream.close()
    #expect(try await transportError { try await closed.value }.code == .streamClosed)
  }

  @Test("A cancelled write closes the stream, whether it waits for the address or for space", arguments: [0, 1])
  func interruptedWrites(way: Int) async throws {
    let far = EventRecorder<MemoryStream>()
    let done = EventRecorder<Int>()
    let below = MemoryDialer(shape: .init(capacity: 1)) { _, stream in
      far.record(stream)
      // The server reads nothing and writes nothing.
      try await done.waitForEvents(count: 1)
    }
    let house = try ShadowsocksHouse()
    let stream = try await house.dialer(over: below).dial(Self.request)
    if way == 0 {
      _ = try? await stream.read(upTo: 1, within: .milliseconds(1))
      #expect(
        try await transportError { try await stream.write(Data([1]), within: .milliseconds(1)) }.stage == .timeout)
    } else {
      let writing = Task { try await stream.write(Data(count: 100_000)) }
      try await far.waitForEvents(count: 1)
      writing.cancel()
      #expect(try await transportError { try await writing.value }.code == .cancelled)
    }
    #expect(try await transportError { try await stream.read() }.code == .streamClosed)
    #expect(try await transportError { try await stream.write(Data([1])) }.code == .streamClosed)
    done.record(way)
  }

  @Test("A connection that breaks before the address was sent fails reads and writes, and reports nothing as sent")
  func brokenBeginning() async throws {
    let below = MemoryDialer { _, stream in stream.close() }
    let house = try ShadowsocksHouse()
    let stream = try await house.dialer(over: below).dial(Self.request)
    let error = try await transportError { try await stream.read() }
    #expect(error.code == .proxyRefused && !error.requestSent)
    #expect(await (try? stream.write(Data([1]))) == nil)
  }
}

@Suite("Shadowsocks and its underlying dialer", .timeLimit(.minutes(15)))
struct ShadowsocksLayerTests {
  @Test("The server is dialed as a proxy without the client's certificate, after a check for plain text")
  func plaintext() async throws {
    let house = try ShadowsocksHouse()
    let below = PinnedHostsDialer(below: house.near, pinned: ["pinned.test", ShadowsocksHouse.host])
    let dialer = house.dialer(over: below)
    let refused = try await transportError { try await dialer.dial(DialRequest(host: "pinned.test", port: 80)) }
    #expect(refused.code == .plaintextRefused)
    #expect(below.dialed.events.isEmpty)

    var options = ConnectionOptions()
    options.tls.identity = .init(certificate: .bytes([1]))
    options.localInterface = "lo"
    _ = try await dialer.dial(
      DialRequest(host: "free.test", port: 80, connection: options, connectTimeout: .seconds(600)))
    let request = try #require(below.dialed.events.first)
    #expect(request.host == ShadowsocksHouse.host)
    #expect(request.port == 8388)
    #expect(request.role == .proxy)
    #expect(request.tls == nil)
    #expect(request.connection?.tls.identity == nil)
    #expect(request.connection?.localInterface == "lo")
    #expect(request.connectTimeout == .seconds(600))
    #expect(dialer.trustRevisions(for: request) == below.trustRevisions(for: request))
  }

  @Test("Unsupported requests are refused before anything is dialed")
  func refusedRequests() async throws {
    let house = try ShadowsocksHouse()
    let below = PinnedHostsDialer(below: house.near)
    let dialer = house.dialer(over: below)
    var unix = ConnectionOptions()
    unix.unixSocketPath = "/tmp/x"
    let long = Array(repeating: String(repeating: "a", count: 60), count: 5).joined(separator: ".")
    let requests: [(DialRequest, FailureCode)] = [
      (DialRequest(host: "a.test", port: 443, tls: .init()), .unsupported),
      (DialRequest(host: "", port: 80), .invalidOption), (DialRequest(host: "a b", port: 80), .invalidOption),
      (DialRequest(host: long, port: 80), .invalidOption), (DialRequest(host: "a.test", port: 0), .invalidOption),
      (DialRequest(host: "a.test", port: 80, connection: unix), .invalidOption),
    ]
    for (request, code) in requests {
      let error = try await transportError { try await dialer.dial(request) }
      #expect(error.code == code, "\(request.host)")
      #expect(error.stage == .request)
    }
    #expect(below.dialed.events.isEmpty)
    #expect(try await transportError { try await dialer.dialDatagrams(requests[1].0) }.code == .unsupported)
  }

  @Test("An unreachable server is reported as a proxy failure with its name")
  func unreachable() async throws {
    let house = try ShadowsocksHouse()
    for (stage, code, told) in [
      (.resolve, .hostNotFound, .proxyNotFound), (.connect, .connectFailed, .proxyConnectFailed),
      (.timeout, .connectTimeout, .connectTimeout),
    ] as [(FailureStage, FailureCode, FailureCode)] {
      let below = FailingDialer(error: TransportError(stage: stage, code: code, message: "no connection"))
      let error = try await transportError {
        try await house.dialer(over: below).dial(DialRequest(host: "any.test", port: 1))
      }
      #expect(error.code == told)
      #expect(error.message.contains("the Shadowsocks server \(ShadowsocksHouse.host):8388"))
      #expect(!error.requestSent)
    }
  }

  @Test("TLS that waits for a silent server reports the possible cause")
  func tlsOverSilence() async throws {
    let house = try ShadowsocksHouse { $0.fault = .silence }
    let lab = try TestAuthority()
    let dialer = try ViaChain([house.server.uri(host: ShadowsocksHouse.host, port: 8388)])
      .dialer(over: house.near) { TLSDialer(over: $0, connection: lab.options()) }
    let error = try await transportError {
      try await dialer.dial(
        DialRequest(host: "any.test", port: 443, tls: .init(), connectTimeout: .seconds(3)))
    }
    #expect(error.stage == .timeout && error.code == .connectTimeout)
    #expect(error.hint?.contains("check password and method") == true, "\(error)")
    #expect(!error.requestSent)
  }
}

/// A loopback server in memory, and the dialers that reach it.
struct ShadowsocksHouse {
  static let host = "proxy.test"

  let server: LoopbackShadowsocksServer
  let ended = EventRecorder<Int>()
  /// The reads and writes of the stream below Shadowsocks: the sizes that were asked for, and the data.
  let reads = EventRecorder<Int>()
  let writes = EventRecorder<Data>()
  private let shadowsocks: ShadowsocksServer
  private let time: TimeSource

  init(
    time: TimeSource = .continuous, _ edit: (inout LoopbackShadowsocksBehavior) -> Void = { _ in }
  ) throws {
    var behavior = LoopbackShadowsocksBehavior()
    edit(&behavior)
    server = try LoopbackShadowsocksServer(behavior)
    shadowsocks = try ShadowsocksServer(server.uri(host: Self.host, port: 8388))
    self.time = time
  }

  /// The dialer that reaches the server, without Shadowsocks.
  var near: any Dialer { near(MemoryStream.Shape()) }

  private func near(_ shape: MemoryStream.Shape) -> any Dialer {
    StreamRecordingDialer(below: server.dialer(shape: shape), ended: ended, reads: reads, writes: writes)
  }

  func dialer(shape: MemoryStream.Shape = MemoryStream.Shape()) -> ShadowsocksDialer { dialer(over: near(shape)) }

  func dialer(over below: any Dialer) -> ShadowsocksDialer { ShadowsocksDialer(shadowsocks, over: below, time: time) }
}
